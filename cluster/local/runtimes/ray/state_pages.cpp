#include "cluster/local/runtimes/ray/state_pages.h"

#include "cluster/local/runtimes/ray/node_pages.h"
#include "cluster/local/runtimes/ray/ray_answers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr const char *serveJob = "01000000"; ///< the driver that Serve's actors belong to

std::string headNode(const NodeTable &nodes)
{
    const auto &all = nodes.all();
    const auto head = std::find_if(all.begin(), all.end(), [](const RayNode &node) { return node.isHead; });
    return head == all.end() ? std::string() : head->id;
}

int pidOf(const NodeTable &nodes, const std::string &id)
{
    const RayNode *node = nodes.find(id);
    return node == nullptr ? 0 : node->facts.pid;
}

struct Actor
{
    std::string id, className, name, node, state, workerId;
    RayResources resources;
    int pid = 0;
    std::int64_t startMs = 0;
};

std::vector<Actor> actorsOf(const ServeState &serve, const NodeTable &nodes)
{
    std::vector<Actor> actors;
    if (!serve.isStarted)
        return actors;
    const std::string head = headNode(nodes);
    const auto startMs = static_cast<std::int64_t>(serve.startedAt * 1000);
    actors.push_back({serve.controllerActor,
                      "ServeController",
                      "SERVE_CONTROLLER_ACTOR",
                      head,
                      "ALIVE",
                      serve.controllerWorker,
                      {{"node:__internal_head__", 0.001}},
                      pidOf(nodes, head),
                      startMs});
    for (const auto &[id, proxy] : serve.proxies)
        actors.push_back({proxy.actorId, "ProxyActor", "SERVE_PROXY_ACTOR-" + id, id, "ALIVE", proxy.workerId,
                          RayResources(), pidOf(nodes, id), startMs});
    for (const auto &[name, app] : serve.apps) {
        for (const ServeDeployment &deployment : app.deployments) {
            for (const ServeReplica &replica : deployment.replicas) {
                const bool isPending = replica.state == ServeReplicaState::Starting;
                actors.push_back({replica.actorId, "ServeReplica:" + name + ":" + deployment.blueprint.name,
                                  replicaActorName(replica.spec), replica.node,
                                  isPending ? "PENDING_CREATION" : "ALIVE", replica.workerId,
                                  deployment.blueprint.resources, replica.pid,
                                  static_cast<std::int64_t>(replica.startedAt * 1000)});
            }
        }
    }
    return actors;
}

json listAnswer(std::size_t total, const json &filtered, std::size_t limit)
{
    json shown = json::array();
    for (std::size_t i = 0; i < std::min(limit, filtered.size()); ++i)
        shown.push_back(filtered[i]);
    return {{"result",
             {{"total", total},
              {"num_after_truncation", total},
              {"num_filtered", filtered.size()},
              {"result", std::move(shown)},
              {"partial_failure_warning", ""},
              {"warnings", nullptr}}}};
}

/// What a filter compares: texts as they are, others as JSON, without regard to case.
std::string filterText(const json &value)
{
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

ServerResponse filtered(const ServerRequest &request, const json &all)
{
    const auto keys = request.queryValues("filter_keys"),
               predicates = request.queryValues("filter_predicates"),
               values = request.queryValues("filter_values");
    for (const std::string &predicate : predicates) {
        if (predicate != "=" && predicate != "!=")
            return rayFailure(400,
                              "1 validation error for ListApiOptions\n  Value error, Unsupported filter "
                              "predicate "
                                  + predicate + " is given. Available predicates: =, !=. [type=value_error]",
                              {{"result", nullptr}});
    }
    std::size_t limit = 100;
    constexpr std::size_t mostLimit = 10'000;
    if (const auto wanted = request.queryValue("limit")) {
        const auto end = std::from_chars(wanted->data(), wanted->data() + wanted->size(), limit);
        if (end.ec != std::errc() || limit > mostLimit)
            return rayFailure(400,
                              "Given limit " + *wanted
                                  + " exceeds the supported limit 10000. Use a lower limit, or set the "
                                    "`RAY_MAX_LIMIT_FROM_API_SERVER` environment variable to a larger value.",
                              {{"result", nullptr}});
    }
    json kept = json::array();
    for (const json &one : all) {
        bool isKept = true;
        for (std::size_t i = 0; i < std::min({keys.size(), predicates.size(), values.size()}); ++i) {
            const auto field = one.find(keys[i]);
            const bool isEqual = field != one.end() && filterText(*field) == filterText(json(values[i]));
            isKept = isKept && isEqual == (predicates[i] == "=");
        }
        if (isKept)
            kept.push_back(one);
    }
    return rayEnvelope("", listAnswer(all.size(), kept, limit));
}

json stateOfEvents(const RayJobs &jobs)
{
    json list = json::array();
    for (const RayEvent &event : jobs.events()) {
        std::array<char, 32> time{};
        const std::time_t at = event.seconds;
        std::tm parts{};
        gmtime_r(&at, &parts);
        std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S", &parts);
        list.push_back({{"severity", event.severity},
                        {"time", time.data()},
                        {"source_type", event.source},
                        {"message", event.message},
                        {"event_id", event.id}});
    }
    return list;
}

json stateOfJobs(const RayJobs &jobs)
{
    json list = json::array();
    const json all = jobs.list();
    for (auto job = all.rbegin(); job != all.rend(); ++job) {
        json one = json::object();
        for (const char *field : {"job_id", "submission_id", "entrypoint", "type", "status", "message",
                                  "error_type", "driver_info"})
            one[field] = job->at(field);
        list.push_back(std::move(one));
    }
    return list;
}

json summaryAnswer(std::size_t total, const json &cluster)
{
    return {{"result",
             {{"total", total},
              {"num_after_truncation", total},
              {"num_filtered", total},
              {"result", {{"node_id_to_summary", {{"cluster", cluster}}}}},
              {"partial_failure_warning", ""},
              {"warnings", nullptr}}}};
}

json actorSummary(const std::vector<Actor> &actors)
{
    json classes = json::object();
    for (const Actor &actor : actors) {
        json &one = classes[actor.className];
        one["class_name"] = actor.className;
        one["state_counts"][actor.state] = one["state_counts"].value(actor.state, 0) + 1;
    }
    return summaryAnswer(
        actors.size(),
        {{"summary", std::move(classes)}, {"total_actors", actors.size()}, {"summary_by", "class"}});
}

ServerResponse logPage(const ServerRequest &request, bool isFile)
{
    if (!request.queryValue("node_id") && !request.queryValue("node_ip"))
        return rayFailure(400,
                          "Both node id and node ip are not provided. Please provide at least one of them.",
                          {{"result", nullptr}});
    if (!isFile) // what a node prints is its container's log, which kubectl logs shows
        return rayEnvelope("", {{"result", json::object()}});
    return rayText(404, "slipway-ray keeps no log files; see the pod's log (kubectl logs)");
}

} // namespace

json stateOfActors(const ServeState &serve, const NodeTable &nodes, bool hasDetail)
{
    json list = json::array();
    for (const Actor &actor : actorsOf(serve, nodes)) {
        json one{{"actor_id", actor.id}, {"class_name", actor.className},
                 {"state", actor.state}, {"job_id", serveJob},
                 {"name", actor.name},   {"node_id", actor.node},
                 {"pid", actor.pid},     {"ray_namespace", "serve"}};
        if (hasDetail)
            one.update({{"serialized_runtime_env", "{}"},
                        {"required_resources", actor.resources},
                        {"death_cause", nullptr},
                        {"is_detached", true},
                        {"placement_group_id", nullptr},
                        {"repr_name", ""},
                        {"num_restarts", "0"},
                        {"num_restarts_due_to_lineage_reconstruction", "0"},
                        {"num_restarts_due_to_node_preemption", "0"},
                        {"call_site", nullptr},
                        {"label_selector", json::object()},
                        {"fallback_strategy", nullptr}});
        list.push_back(std::move(one));
    }
    return list;
}

json logicalActors(const ServeState &serve, const NodeTable &nodes, const std::string &wanted)
{
    json all = json::object();
    for (const Actor &actor : actorsOf(serve, nodes)) {
        if (!wanted.empty() && actor.node != wanted)
            continue;
        const RayNode *node = nodes.find(actor.node);
        const std::string ip = node == nullptr ? std::string() : node->facts.ip;
        all[actor.id]
            = {{"actorId", actor.id},
               {"jobId", serveJob},
               {"address",
                {{"nodeId", actor.node}, {"ipAddress", ip}, {"port", 0}, {"workerId", actor.workerId}}},
               {"name", actor.name},
               {"className", actor.className},
               {"state", actor.state},
               {"numRestarts", "0"},
               {"timestamp", static_cast<double>(actor.startMs)},
               {"pid", actor.pid},
               {"startTime", actor.startMs},
               {"endTime", 0},
               {"reprName", ""},
               {"labelSelector", json::object()},
               {"actorClass", actor.className},
               {"exitDetail", "-"},
               {"requiredResources", actor.resources},
               {"ipAddress", ip},
               {"workerId", actor.workerId},
               {"language", "PYTHON"},
               {"workerType", "WORKER"},
               {"gpus", json::array()},
               {"tpus", json::array()}};
    }
    return all;
}

ServerResponse statePage(const ServerRequest &request, const NodeTable &nodes, const ServeState &serve,
                         const RayJobs &jobs, const std::string &rayVersion)
{
    const std::string name = request.path.substr(std::string("/api/v0/").size());
    const std::string detail = request.queryValue("detail").value_or("");
    const bool hasDetail = detail == "1" || detail == "true" || detail == "True";
    if (name == "nodes")
        return filtered(request, stateOfNodes(nodes, hasDetail));
    if (name == "actors")
        return filtered(request, stateOfActors(serve, nodes, hasDetail));
    if (name == "jobs")
        return filtered(request, stateOfJobs(jobs));
    if (name == "cluster_events")
        return filtered(request, stateOfEvents(jobs));
    if (name == "actors/summarize")
        return rayEnvelope("", actorSummary(actorsOf(serve, nodes)));
    if (name == "tasks/summarize")
        return rayEnvelope("",
                           summaryAnswer(0,
                                         {{"summary", json::object()},
                                          {"total_tasks", 0},
                                          {"total_actor_tasks", 0},
                                          {"total_actor_scheduled", 0},
                                          {"summary_by", "func_name"}}));
    if (name == "objects/summarize")
        return rayEnvelope("",
                           summaryAnswer(0,
                                         {{"summary", json::object()},
                                          {"total_objects", 0},
                                          {"total_size_mb", 0.0},
                                          {"callsite_enabled", false},
                                          {"summary_by", "callsite"}}));
    if (name == "cluster_metadata")
        return rayEnvelope(
            "", {{"rayVersion", rayVersion}, {"pythonVersion", "none"}, {"rayInitCluster", false}});
    if (name == "logs" || name == "logs/file")
        return logPage(request, name == "logs/file");
    constexpr std::array empty{"tasks", "workers", "placement_groups", "objects", "runtime_envs"};
    if (std::find(empty.begin(), empty.end(), name) != empty.end())
        return filtered(request, json::array());
    return rayNotFound();
}

} // namespace cluster::local
