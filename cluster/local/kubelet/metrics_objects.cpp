#include "cluster/local/kubelet/metrics_objects.h"

#include <map>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

constexpr const char *groupVersion = "metrics.k8s.io/v1beta1";
constexpr const char *serviceName = "metrics-server";
constexpr const char *serviceNamespace = "kube-system";

Json labelsOf(const Json &object)
{
    return object.value("/metadata/labels"_json_pointer, Json());
}

std::string nameOf(const Json &object)
{
    const Json name = object.value("/metadata/name"_json_pointer, Json());
    return name.is_string() ? name.get<std::string>() : std::string();
}

std::string namespaceOf(const Json &object)
{
    const Json name = object.value("/metadata/namespace"_json_pointer, Json());
    return name.is_string() ? name.get<std::string>() : std::string();
}

Json amounts(std::uint64_t nanocores, std::uint64_t bytes)
{
    return {{"cpu", std::to_string(nanocores) + "n"}, {"memory", std::to_string(bytes / 1024) + "Ki"}};
}

Json metrics(const std::string &kind, const Json &object, PageTime now)
{
    Json metadata{{"name", nameOf(object)}, {"creationTimestamp", rfc3339(now)}};
    if (const std::string space = namespaceOf(object); !space.empty())
        metadata["namespace"] = space;
    if (const Json labels = labelsOf(object); labels.is_object())
        metadata["labels"] = labels;
    return {{"kind", kind},
            {"apiVersion", groupVersion},
            {"metadata", metadata},
            {"timestamp", rfc3339(now)},
            {"window", "10s"}};
}

Json resource(const char *name, const char *singular, const char *kind, bool isNamespaced)
{
    return {{"name", name},
            {"singularName", singular},
            {"kind", kind},
            {"namespaced", isNamespaced},
            {"verbs", {"get", "list"}}};
}

Json aggregatedResource(const char *name, const char *singular, const char *kind, bool isNamespaced)
{
    return {{"resource", name},
            {"singularResource", singular},
            {"responseKind", {{"group", "metrics.k8s.io"}, {"version", "v1beta1"}, {"kind", kind}}},
            {"scope", isNamespaced ? "Namespaced" : "Cluster"},
            {"verbs", {"get", "list"}}};
}

} // namespace

Json nodeMetrics(const Json &nodes, const std::vector<PodUsage> &usage, const LabelSelector &selector,
                 PageTime now)
{
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> totals;
    for (const PodUsage &pod : usage) {
        for (const ContainerUsage &part : pod.containers) {
            totals[pod.node].first += part.cpuNanocores;
            totals[pod.node].second += part.memoryBytes;
        }
    }
    Json items = Json::array();
    for (const Json &node : nodes) {
        if (!selector.selects(labelsOf(node)))
            continue;
        const auto &[nanocores, bytes] = totals[nameOf(node)];
        Json item = metrics("NodeMetrics", node, now);
        item["usage"] = amounts(nanocores, bytes);
        items.push_back(std::move(item));
    }
    return items;
}

Json podMetrics(const Json &pods, const std::vector<PodUsage> &usage, const std::string &nameSpace,
                const LabelSelector &selector, PageTime now)
{
    std::map<std::string, const PodUsage *> measured;
    for (const PodUsage &pod : usage)
        measured[pod.podNamespace + "/" + pod.pod] = &pod;
    Json items = Json::array();
    for (const Json &pod : pods) {
        const std::string space = namespaceOf(pod);
        const auto found = measured.find(space + "/" + nameOf(pod));
        const bool isWanted = nameSpace.empty() || nameSpace == space;
        if (found == measured.end() || !isWanted || !selector.selects(labelsOf(pod)))
            continue;
        Json containers = Json::array();
        for (const ContainerUsage &part : found->second->containers)
            containers.push_back(
                {{"name", part.container}, {"usage", amounts(part.cpuNanocores, part.memoryBytes)}});
        Json item = metrics("PodMetrics", pod, now);
        item["containers"] = std::move(containers);
        items.push_back(std::move(item));
    }
    return items;
}

Json metricsList(const std::string &kind, Json items)
{
    return {{"kind", kind},
            {"apiVersion", groupVersion},
            {"metadata", Json::object()},
            {"items", std::move(items)}};
}

Json metricsDiscovery()
{
    const Json version{{"version", "v1beta1"},
                       {"freshness", "Current"},
                       {"resources",
                        {aggregatedResource("nodes", "node", "NodeMetrics", false),
                         aggregatedResource("pods", "pod", "PodMetrics", true)}}};
    const Json group{{"metadata", {{"name", "metrics.k8s.io"}}}, {"versions", Json::array({version})}};
    return {{"kind", "APIGroupDiscoveryList"},
            {"apiVersion", "apidiscovery.k8s.io/v2"},
            {"metadata", Json::object()},
            {"items", Json::array({group})}};
}

Json metricsGroup()
{
    const Json version{{"groupVersion", groupVersion}, {"version", "v1beta1"}};
    return {{"kind", "APIGroup"},
            {"apiVersion", "v1"},
            {"name", "metrics.k8s.io"},
            {"versions", Json::array({version})},
            {"preferredVersion", version}};
}

Json metricsGroupList()
{
    return {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", Json::array({metricsGroup()})}};
}

Json metricsResources()
{
    return {{"kind", "APIResourceList"},
            {"apiVersion", "v1"},
            {"groupVersion", groupVersion},
            {"resources",
             {resource("nodes", "node", "NodeMetrics", false), resource("pods", "pod", "PodMetrics", true)}}};
}

Json metricsService()
{
    return {{"kind", "Service"},
            {"apiVersion", "v1"},
            {"metadata",
             {{"name", serviceName},
              {"namespace", serviceNamespace},
              {"labels", {{"k8s-app", "metrics-server"}, {"kubernetes.io/name", "Metrics-server"}}}}},
            {"spec",
             {{"type", "ClusterIP"},
              {"ports", Json::array({{{"name", "https"}, {"port", 443}, {"protocol", "TCP"}}})}}}};
}

Json metricsEndpoints(const std::string &address, std::uint16_t port)
{
    const Json endpoint{{"addresses", {address}}, {"conditions", {{"ready", true}}}};
    return {{"kind", "EndpointSlice"},
            {"apiVersion", "discovery.k8s.io/v1"},
            {"metadata",
             {{"name", "metrics-server-local"},
              {"namespace", serviceNamespace},
              {"labels",
               {{"kubernetes.io/service-name", serviceName},
                {"endpointslice.kubernetes.io/managed-by", "slipway-local-target"}}}}},
            {"addressType", "IPv4"},
            {"endpoints", Json::array({endpoint})},
            {"ports", Json::array({{{"name", "https"}, {"port", port}, {"protocol", "TCP"}}})}};
}

Json metricsApiService(const std::string &caPemBase64)
{
    return {{"kind", "APIService"},
            {"apiVersion", "apiregistration.k8s.io/v1"},
            {"metadata", {{"name", "v1beta1.metrics.k8s.io"}}},
            {"spec",
             {{"group", "metrics.k8s.io"},
              {"version", "v1beta1"},
              {"groupPriorityMinimum", 100},
              {"versionPriority", 100},
              {"caBundle", caPemBase64},
              {"service", {{"name", serviceName}, {"namespace", serviceNamespace}, {"port", 443}}}}}};
}

} // namespace cluster::local
