#include "cluster/local/metrics/scrape_config.h"

#include "cluster/local/metrics/relabeling.h"

#include <algorithm>
#include <array>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::array<const char *, 7> kProtected{"project_id", "location", "cluster",    "namespace",
                                                 "job",        "instance", "__address__"};

json memberOf(const json &object, const char *name)
{
    const auto found = object.find(name);
    return found == object.end() ? json() : *found;
}

std::string textOf(const json &object, const char *name, const char *otherwise = "")
{
    const json value = memberOf(object, name);
    return value.is_string() ? value.get<std::string>() : otherwise;
}

bool isProtected(const std::string &label)
{
    return std::find(kProtected.begin(), kProtected.end(), label) != kProtected.end();
}

Status checkSelector(const json &selector)
{
    const json labels = memberOf(selector, "matchLabels");
    for (const auto &[key, value] : labels.items()) {
        if (!value.is_string())
            return fail(ErrorCode::InvalidArgument, "the label " + key + " of the selector is no text");
    }
    for (const json &expression : memberOf(selector, "matchExpressions")) {
        const std::string op = textOf(expression, "operator");
        if (op != "In" && op != "NotIn" && op != "Exists" && op != "DoesNotExist")
            return fail(ErrorCode::InvalidArgument, "\"" + op + "\" is not a valid label selector operator");
    }
    return {};
}

json targetsOf(const ScrapedCluster &cluster, const std::string &key)
{
    return json::array({{{"files", json::array({cluster.targetsFile(key).string()})}}});
}

std::vector<json> clusterLabels(const ScrapedCluster &cluster)
{
    return {relabeling::set("project_id", cluster.project), relabeling::set("location", cluster.location),
            relabeling::set("cluster", cluster.name)};
}

/// Which of a pod's ports, and the instance: the pod's name and that port (a DaemonSet's pod has its node's).
Status addPort(std::vector<json> &rules, const json &port)
{
    const std::string pod = "__meta_kubernetes_pod_";
    rules.push_back(relabeling::copy(pod + "name", "__tmp_instance"));
    rules.push_back(relabeling::replace({pod + "controller_kind", pod + "node_name"}, "DaemonSet;(.*)", "$1",
                                        "__tmp_instance"));
    if (port.is_string() && !port.get<std::string>().empty()) {
        rules.push_back(relabeling::keep(pod + "container_port_name", port.get<std::string>()));
        rules.push_back(relabeling::replace({"__tmp_instance", pod + "container_port_name"}, "(.+);(.+)",
                                            "$1:$2", "instance"));
        return {};
    }
    if (!port.is_number_integer() || port.get<std::int64_t>() <= 0 || port.get<std::int64_t>() > 65535)
        return fail(ErrorCode::InvalidArgument, "port must be set");
    // A number may be declared by several containers or by none: all candidates of a pod become the same
    // target, which therefore has no container.
    const std::string behind = "$1:" + std::to_string(port.get<std::int64_t>());
    rules.push_back(relabeling::dropLabel("container"));
    rules.push_back(relabeling::replace({"__tmp_instance"}, "(.*)", behind, "instance"));
    rules.push_back(relabeling::replace({pod + "ip"}, "(.*)", behind, "__address__"));
    return {};
}

Status addPodLabels(std::vector<json> &rules, const json &mappings)
{
    for (const json &mapping : mappings) {
        const std::string from = textOf(mapping, "from");
        const std::string to = textOf(mapping, "to").empty() ? from : textOf(mapping, "to");
        if (isProtected(to))
            return fail(ErrorCode::InvalidArgument,
                        "invalid pod label mapping: cannot relabel with action \"replace\" onto protected "
                        "label \""
                            + to + "\"");
        rules.push_back(relabeling::copy(relabeling::metaLabelOf(from), to));
    }
    return {};
}

Result<json> metricRelabeling(const json &rules)
{
    json configs = json::array();
    for (const json &rule : rules) {
        const std::string action = textOf(rule, "action", "replace");
        const std::string target = textOf(rule, "targetLabel");
        if ((action == "replace" || action == "hashmod") && isProtected(target))
            return fail(ErrorCode::InvalidArgument,
                        "cannot relabel with action \"" + action + "\" onto protected label \"" + target
                            + "\"");
        json config{{"action", action}};
        for (const auto &[ours, theirs] : {std::pair{"sourceLabels", "source_labels"},
                                           {"targetLabel", "target_label"},
                                           {"separator", "separator"},
                                           {"regex", "regex"},
                                           {"replacement", "replacement"},
                                           {"modulus", "modulus"}}) {
            if (const json value = memberOf(rule, ours); !value.is_null())
                config[theirs] = value;
        }
        configs.push_back(std::move(config));
    }
    return configs;
}

void addLimits(json &config, const json &limits)
{
    for (const auto &[ours, theirs] : {std::pair{"samples", "sample_limit"},
                                       {"labels", "label_limit"},
                                       {"labelNameLength", "label_name_length_limit"},
                                       {"labelValueLength", "label_value_length_limit"}}) {
        if (const json value = memberOf(limits, ours); value.is_number_integer())
            config[theirs] = value;
    }
}

/// How the pages are fetched.
Status addHttp(json &config, const json &endpoint)
{
    for (const char *secret : {"authorization", "basicAuth", "oauth2", "proxyUrl"}) {
        if (!memberOf(endpoint, secret).is_null())
            return fail(ErrorCode::Unimplemented,
                        std::string("the local target scrapes without ") + secret
                            + ": leave that field out, or look at this pod's metrics on GKE");
    }
    json tls = json::object();
    const json wanted = memberOf(endpoint, "tls");
    for (const auto &[field, value] : wanted.items()) {
        if (field == "insecureSkipVerify")
            tls["insecure_skip_verify"] = value;
        else if (field == "serverName")
            tls["server_name"] = value;
        else
            return fail(ErrorCode::Unimplemented,
                        "the local target scrapes without tls." + field
                            + ": leave that field out, or look at this pod's metrics on GKE");
    }
    if (!tls.empty())
        config["tls_config"] = tls;
    config["scheme"] = textOf(endpoint, "scheme", "http");
    config["metrics_path"] = textOf(endpoint, "path", "/metrics");
    config["scrape_interval"] = textOf(endpoint, "interval", "1m");
    config["scrape_timeout"] = textOf(endpoint, "timeout", textOf(endpoint, "interval", "1m").c_str());
    if (const json params = memberOf(endpoint, "params"); params.is_object())
        config["params"] = params;
    return {};
}

std::vector<std::string> metadataLabels(const json &spec, bool isOfCluster)
{
    const json wanted = memberOf(memberOf(spec, "targetLabels"), "metadata");
    if (wanted.is_array())
        return wanted.get<std::vector<std::string>>();
    if (isOfCluster)
        return {"container", "namespace", "pod", "top_level_controller_name", "top_level_controller_type"};
    return {"container", "pod", "top_level_controller_name", "top_level_controller_type"};
}

Result<json> endpointConfig(const ScrapedCluster &cluster, const json &monitoring, const json &endpoint)
{
    const json spec = monitoring.at("spec");
    const json &metadata = monitoring.at("metadata");
    const std::string nameSpace = textOf(metadata, "namespace");
    if (const Status valid = checkSelector(memberOf(spec, "selector")); !valid)
        return tl::unexpected(valid.error());
    std::vector<json> rules = clusterLabels(cluster);
    for (const std::string &label : metadataLabels(spec, nameSpace.empty())) {
        for (json &rule : relabeling::metadata(label))
            rules.push_back(std::move(rule));
    }
    if (!nameSpace.empty())
        rules.push_back(relabeling::copy("__meta_kubernetes_namespace", "namespace"));
    rules.push_back(relabeling::set("job", textOf(metadata, "name")));
    if (memberOf(spec, "filterRunning") != json(false))
        rules.push_back(relabeling::drop("__meta_kubernetes_pod_phase", "(Failed|Succeeded)"));
    if (Status done = addPort(rules, memberOf(endpoint, "port")); !done)
        return tl::unexpected(done.error());
    if (Status done = addPodLabels(rules, memberOf(memberOf(spec, "targetLabels"), "fromPod")); !done)
        return tl::unexpected(done.error());
    // Where a cluster's addresses are on this machine.
    rules.push_back(relabeling::replace({"__address__"}, "10\\.(.+)", "127.$1", "__address__"));
    json config{{"honor_timestamps", false},
                {"file_sd_configs", targetsOf(cluster, monitoringKeyOf(monitoring))},
                {"relabel_configs", rules}};
    if (Status done = addHttp(config, endpoint); !done)
        return tl::unexpected(done.error());
    const auto ofMetrics = metricRelabeling(memberOf(endpoint, "metricRelabeling"));
    if (!ofMetrics)
        return tl::unexpected(ofMetrics.error());
    config["metric_relabel_configs"] = *ofMetrics;
    addLimits(config, memberOf(spec, "limits"));
    return config;
}

json kubeletConfig(const ScrapedCluster &cluster, const std::string &page)
{
    const char *const node = "__meta_kubernetes_node_name";
    std::vector<json> rules = clusterLabels(cluster);
    rules.push_back(relabeling::set("job", "kubelet"));
    rules.push_back(relabeling::copy(node, "node"));
    rules.push_back(relabeling::replace({node}, "(.*)", "$1:" + page, "instance"));
    rules.push_back(
        relabeling::replace({node}, "(.*)", "/api/v1/nodes/$1/proxy/metrics/" + page, "__metrics_path__"));
    json config{{"job_name", cluster.id + "/kubelet/" + page},
                {"honor_timestamps", false},
                {"scrape_interval", "30s"},
                {"scrape_timeout", "20s"},
                {"scheme", "https"},
                {"tls_config", {{"ca_file", cluster.caFile.string()}}},
                {"authorization", {{"credentials_file", cluster.tokenFile.string()}}},
                {"file_sd_configs", targetsOf(cluster, "kubelet")},
                {"relabel_configs", rules}};
    if (page == "resource") // the same names as cadvisor's would be counted twice by a sum
        config["metric_relabel_configs"]
            = json::array({relabeling::drop("__name__", "container_.+|scrape_error")});
    return config;
}

} // namespace

std::filesystem::path ScrapedCluster::targetsFile(const std::string &key) const
{
    std::string name = id.substr(0, 16) + "_" + key + ".json";
    std::replace(name.begin(), name.end(), '/', '_'); // which no name of Kubernetes has
    return targetsFolder / name;
}

std::string monitoringKeyOf(const json &monitoring)
{
    const json &metadata = monitoring.at("metadata");
    const std::string nameSpace = textOf(metadata, "namespace");
    return nameSpace.empty() ? "ClusterPodMonitoring/" + textOf(metadata, "name")
                             : "PodMonitoring/" + nameSpace + "/" + textOf(metadata, "name");
}

Result<json> scrapeConfigsOf(const ScrapedCluster &cluster, const json &monitoring)
{
    try {
        json configs = json::array();
        for (const json &endpoint : monitoring.at("spec").at("endpoints")) {
            auto config = endpointConfig(cluster, monitoring, endpoint);
            if (!config)
                return fail(config.error().code,
                            "invalid definition for endpoint with index " + std::to_string(configs.size())
                                + ": " + config.error().message);
            // Two endpoints may have the same port and differ in their paths.
            (*config)["job_name"]
                = cluster.id + "/" + monitoringKeyOf(monitoring) + "/" + std::to_string(configs.size());
            configs.push_back(std::move(*config));
        }
        return configs;
    } catch (const json::exception &error) {
        return fail(ErrorCode::InvalidArgument, std::string("not of the right shape: ") + error.what());
    }
}

json kubeletScrapeConfigs(const ScrapedCluster &cluster)
{
    return json::array({kubeletConfig(cluster, "cadvisor"), kubeletConfig(cluster, "resource")});
}

} // namespace cluster::local
