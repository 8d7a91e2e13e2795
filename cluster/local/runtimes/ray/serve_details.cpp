#include "cluster/local/runtimes/ray/serve_details.h"

namespace cluster::local {

using nlohmann::json;

namespace {

std::string nodeIp(const NodeTable &nodes, const std::string &id)
{
    const RayNode *node = nodes.find(id);
    return node == nullptr ? std::string() : node->facts.ip;
}

std::string instanceId(const NodeTable &nodes, const std::string &id)
{
    const RayNode *node = nodes.find(id);
    return node == nullptr ? std::string() : node->facts.instanceId;
}

std::string headId(const NodeTable &nodes)
{
    for (const RayNode &node : nodes.all()) {
        if (node.isHead)
            return node.id;
    }
    return {};
}

/// With the node's *name* in `node_ip`, as the real one.
json proxyDetails(const ServeProxy &proxy, const NodeTable &nodes)
{
    const RayNode *node = nodes.find(proxy.node);
    const std::string name = node == nullptr ? std::string() : node->facts.name;
    json details{{"node_id", proxy.node},
                 {"node_ip", name},
                 {"node_instance_id", instanceId(nodes, proxy.node)},
                 {"actor_id", proxy.actorId},
                 {"actor_name", "SERVE_PROXY_ACTOR-" + proxy.node},
                 {"status", nameOf(proxy.status)}};
    if (proxy.status != ServeProxyStatus::Starting) {
        details["worker_id"] = proxy.workerId;
        details["log_file_path"] = "/serve/proxy_" + name + ".log";
    }
    return details;
}

json autoscalingDetails(const ServeAutoscaling &rules)
{
    return {{"min_replicas", rules.minReplicas},
            {"initial_replicas", rules.initialReplicas ? json(*rules.initialReplicas) : json()},
            {"max_replicas", rules.maxReplicas},
            {"target_ongoing_requests", rules.targetOngoing},
            {"metrics_interval_s", 10.0},
            {"look_back_period_s", rules.lookBackSeconds},
            {"smoothing_factor", 1.0},
            {"upscale_smoothing_factor", nullptr},
            {"downscale_smoothing_factor", nullptr},
            {"upscaling_factor", nullptr},
            {"downscaling_factor", nullptr},
            {"downscale_delay_s", rules.downscaleDelaySeconds},
            {"downscale_to_zero_delay_s", nullptr},
            {"upscale_delay_s", rules.upscaleDelaySeconds},
            {"aggregation_function", "mean"},
            {"policy",
             {{"policy_function", "ray.serve.autoscaling_policy:default_autoscaling_policy"},
              {"policy_kwargs", json::object()}}}};
}

json actorOptions(const DeploymentBlueprint &blueprint, const json &runtimeEnv)
{
    json options{{"runtime_env", runtimeEnv}, {"num_cpus", 1.0}};
    for (const auto &[resource, amount] : blueprint.resources) {
        if (resource == "CPU")
            options["num_cpus"] = amount;
        else if (resource == "GPU")
            options["num_gpus"] = amount;
        else
            options["resources"][resource] = amount;
    }
    return options;
}

json configDetails(const ServeDeployment &deployment, const json &runtimeEnv)
{
    const DeploymentBlueprint &blueprint = deployment.blueprint;
    json config{
        {"name", blueprint.name},
        {"max_ongoing_requests", blueprint.maxOngoing},
        {"max_queued_requests", -1},
        {"backpressure_config", {{"status_code", 503}, {"retry_after_s", nullptr}}},
        {"user_config", nullptr},
        {"graceful_shutdown_wait_loop_s", 2.0},
        {"graceful_shutdown_timeout_s", 20.0},
        {"health_check_period_s", 10.0},
        {"health_check_timeout_s", 30.0},
        {"ray_actor_options", actorOptions(blueprint, runtimeEnv)},
        {"request_router_config",
         {{"request_router_class", "ray.serve._private.request_router:PowerOfTwoChoicesRequestRouter"},
          {"request_router_kwargs", json::object()},
          {"request_routing_stats_period_s", 10.0},
          {"request_routing_stats_timeout_s", 30.0},
          {"initial_backoff_s", 0.025},
          {"backoff_multiplier", 2.0},
          {"max_backoff_s", 0.5}}},
        {"rolling_update_percentage", 0.2},
        {"max_surge_percent", 0}};
    if (blueprint.autoscaling)
        config["autoscaling_config"] = autoscalingDetails(*blueprint.autoscaling);
    else
        config["num_replicas"] = blueprint.replicas;
    return config;
}

json replicaDetails(const ServeReplica &replica, const NodeTable &nodes)
{
    json details{{"actor_id", replica.actorId},
                 {"actor_name", replicaActorName(replica.spec)},
                 {"replica_id", replica.spec.id},
                 {"state", nameOf(replica.state)},
                 {"start_time_s", replica.startedAt}};
    if (replica.workerId.empty()) // it runs nowhere yet
        return details;
    std::string deployment = replica.spec.deployment;
    if (const std::size_t colon = deployment.find(':'); colon != std::string::npos)
        deployment[colon] = '_';
    details["node_id"] = replica.node;
    details["node_ip"] = nodeIp(nodes, replica.node);
    details["node_instance_id"] = instanceId(nodes, replica.node);
    details["worker_id"] = replica.workerId;
    details["log_file_path"]
        = "/serve/replica_" + replica.spec.app + "_" + deployment + "_" + replica.spec.id + ".log";
    details["pid"] = replica.pid;
    return details;
}

json deploymentDetails(const ServeDeployment &deployment, const json &runtimeEnv, const NodeTable &nodes)
{
    json replicas = json::array();
    for (const ServeReplica &replica : deployment.replicas)
        replicas.push_back(replicaDetails(replica, nodes));
    return {{"name", deployment.blueprint.name},
            {"status", nameOf(deployment.status)},
            {"status_trigger", deployment.trigger},
            {"message", deployment.message},
            {"deployment_config", configDetails(deployment, runtimeEnv)},
            {"target_num_replicas", std::max(0, deployment.target)},
            {"required_resources", deployment.blueprint.resources},
            {"replicas", std::move(replicas)},
            {"recent_dead_replicas", json::array()}};
}

json topology(const ServeApp &app)
{
    json nodes = json::object();
    for (const ServeDeployment &deployment : app.deployments) {
        json outbound = json::array();
        for (const std::string &name : deployment.blueprint.outbound)
            outbound.push_back({{"name", name}, {"app_name", app.config.name}});
        nodes[deployment.blueprint.name]
            = {{"name", deployment.blueprint.name},
               {"app_name", app.config.name},
               {"outbound_deployments", std::move(outbound)},
               {"is_ingress", deployment.blueprint.name == app.blueprint->ingress}};
    }
    return {{"app_name", app.config.name},
            {"nodes", std::move(nodes)},
            {"ingress_deployment", app.blueprint->ingress}};
}

json appDetails(const ServeApp &app, const NodeTable &nodes)
{
    const json runtimeEnv = app.config.given.value("runtime_env", json::object());
    json deployments = json::object();
    for (const ServeDeployment &deployment : app.deployments)
        deployments[deployment.blueprint.name] = deploymentDetails(deployment, runtimeEnv, nodes);
    const bool isBuilt = app.blueprint.has_value();
    const bool hasRoute = isBuilt && !app.config.routePrefix.empty();
    const std::string root = app.config.routePrefix == "/" ? "" : app.config.routePrefix;
    return {{"name", app.config.name},
            {"route_prefix", hasRoute ? json(app.config.routePrefix) : json()},
            {"docs_path", hasRoute ? json(root + "/docs") : json()},
            {"status", nameOf(app.status)},
            {"message", app.message},
            {"last_deployed_time_s", app.deployedAt},
            {"deployed_app_config", app.config.given},
            {"source", "declarative"},
            {"deployments", std::move(deployments)},
            {"external_scaler_enabled", false},
            {"deployment_topology", isBuilt ? topology(app) : json()}};
}

json targetGroups(const ServeState &state, const NodeTable &nodes)
{
    json targets = json::array();
    for (const auto &[id, proxy] : state.proxies) {
        if (proxy.status == ServeProxyStatus::Healthy)
            targets.push_back({{"ip", nodeIp(nodes, id)},
                               {"port", state.port},
                               {"instance_id", instanceId(nodes, id)},
                               {"name", "SERVE_PROXY_ACTOR-" + id}});
    }
    return json::array({{{"targets", std::move(targets)},
                         {"route_prefix", "/"},
                         {"protocol", "HTTP"},
                         {"app_name", ""},
                         {"ingress_request_router_targets", json::array()},
                         {"ingress_deployment_name", ""}}});
}

json health(const ServeState &state)
{
    const double now = secondsSinceEpoch();
    json metrics{{"timestamp", now},
                 {"controller_start_time", state.startedAt},
                 {"uptime_s", now - state.startedAt},
                 {"last_control_loop_time", now},
                 {"num_control_loops", state.loops},
                 {"loops_per_second",
                  now > state.startedAt ? static_cast<double>(state.loops) / (now - state.startedAt) : 0.0},
                 {"last_sleep_duration_s", 0.1},
                 {"expected_sleep_duration_s", 0.1},
                 {"event_loop_delay_s", 0.0},
                 {"num_asyncio_tasks", 0},
                 {"handle_reports_received", 0},
                 {"replica_reports_received", 0},
                 {"ingest_reports_received", 0},
                 {"ingest_cpu_fraction", 0.0},
                 {"process_memory_mb", 0.0}};
    // Durations that this controller does not measure.
    for (const char *name :
         {"loop_duration_s", "deployment_state_update_duration_s", "application_state_update_duration_s",
          "proxy_state_update_duration_s", "node_update_duration_s"})
        metrics[name] = {{"mean", 0.0}, {"std", 0.0}, {"min", 0.0}, {"max", 0.0}};
    for (const char *name :
         {"handle_ingest_duration_ms", "replica_ingest_duration_ms", "metrics_decompress_duration_ms",
          "columnar_decode_duration_ms", "handle_metrics_delay_ms", "replica_metrics_delay_ms"})
        metrics[name] = json::object();
    return metrics;
}

} // namespace

json serveDetails(const ServeState &state, const NodeTable &nodes, bool declarative)
{
    if (!state.isStarted)
        return {{"controller_info", json::object()},
                {"proxies", json::object()},
                {"applications", json::object()},
                {"target_capacity", nullptr}};
    json proxies = json::object(), apps = json::object();
    for (const auto &[id, proxy] : state.proxies)
        proxies[id] = proxyDetails(proxy, nodes);
    for (const auto &[name, app] : state.apps) {
        if (declarative)
            apps[name] = appDetails(app, nodes);
    }
    const std::string head = headId(nodes);
    return {{"controller_info",
             {{"node_id", head},
              {"node_ip", nodeIp(nodes, head)},
              {"node_instance_id", instanceId(nodes, head)},
              {"actor_id", state.controllerActor},
              {"actor_name", "SERVE_CONTROLLER_ACTOR"},
              {"worker_id", state.controllerWorker},
              {"log_file_path", "/serve/controller.log"}}},
            {"proxy_location", state.proxyLocation},
            {"http_options",
             {{"host", "0.0.0.0"},
              {"port", state.port},
              {"root_path", ""},
              {"request_timeout_s", nullptr},
              {"keep_alive_timeout_s", 90},
              {"ssl_keyfile", nullptr},
              {"ssl_certfile", nullptr},
              {"ssl_keyfile_password", nullptr},
              {"ssl_ca_certs", nullptr}}},
            {"grpc_options",
             {{"port", 9000},
              {"grpc_servicer_functions", json::array()},
              {"request_timeout_s", nullptr},
              {"enable_reflection", true}}},
            {"proxies", std::move(proxies)},
            {"applications", std::move(apps)},
            {"target_capacity", nullptr},
            {"target_groups", targetGroups(state, nodes)},
            {"controller_health_metrics", health(state)},
            {"restores_unset_config_options", true}};
}

} // namespace cluster::local
