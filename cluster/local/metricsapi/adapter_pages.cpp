#include "cluster/local/metricsapi/adapter_pages.h"

#include <array>
#include <vector>

namespace cluster::local {

using nlohmann::json;

namespace {

/// Each scrape makes it.
constexpr const char *listedMetric = "prometheus.googleapis.com|up|gauge";

struct Group
{
    const char *name;
    std::vector<std::string> versions; ///< preferred first
    const char *kind; ///< of answers
    const char *resource, *subresource; ///< listed; the latter may be empty
};

const std::array<Group, 2> &groups()
{
    static const std::array<Group, 2> all{
        {{"custom.metrics.k8s.io", {"v1beta2", "v1beta1"}, "MetricValueList", "*", listedMetric},
         {"external.metrics.k8s.io", {"v1beta1"}, "ExternalMetricValueList", "externalmetrics", ""}}};
    return all;
}

json groupObject(const Group &group)
{
    json versions = json::array();
    for (const std::string &version : group.versions)
        versions.push_back({{"groupVersion", group.name + ("/" + version)}, {"version", version}});
    json object{{"kind", "APIGroup"}, {"apiVersion", "v1"}, {"name", group.name}};
    object["preferredVersion"] = versions.front();
    object["versions"] = std::move(versions);
    return object;
}

json resourceList(const Group &group, const std::string &version)
{
    const std::string below = group.subresource[0] == '\0' ? "" : std::string("/") + group.subresource;
    const json resource{{"name", group.resource + below},
                        {"singularName", ""},
                        {"namespaced", true},
                        {"kind", group.kind},
                        {"verbs", {"get"}}};
    return {{"kind", "APIResourceList"},
            {"apiVersion", "v1"},
            {"groupVersion", group.name + ("/" + version)},
            {"resources", json::array({resource})}};
}

json aggregatedResource(const Group &group, const std::string &version)
{
    const json kind{{"group", group.name}, {"version", version}, {"kind", group.kind}};
    json resource{{"resource", group.resource}, {"scope", "Namespaced"}, {"singularResource", ""}};
    if (group.subresource[0] == '\0') {
        resource["responseKind"] = kind;
        resource["verbs"] = {"get"};
        return resource;
    }
    // A parent that is no resource itself: as the API server converts such lists.
    resource["responseKind"] = {{"group", ""}, {"version", ""}, {"kind", ""}};
    resource["verbs"] = nullptr;
    resource["subresources"]
        = json::array({{{"subresource", group.subresource}, {"responseKind", kind}, {"verbs", {"get"}}}});
    return resource;
}

json aggregatedList()
{
    json items = json::array();
    for (const Group &group : groups()) {
        json versions = json::array();
        for (const std::string &version : group.versions)
            versions.push_back({{"version", version},
                                {"freshness", "Current"},
                                {"resources", json::array({aggregatedResource(group, version)})}});
        items.push_back({{"metadata", {{"name", group.name}}}, {"versions", std::move(versions)}});
    }
    return {{"kind", "APIGroupDiscoveryList"},
            {"apiVersion", "apidiscovery.k8s.io/v2"},
            {"metadata", json::object()},
            {"items", std::move(items)}};
}

json groupList()
{
    json list = json::array();
    for (const Group &group : groups())
        list.push_back(groupObject(group));
    return {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(list)}};
}

} // namespace

std::optional<json> adapterDiscovery(const std::string &path, bool isAggregated)
{
    if (path == "/apis")
        return isAggregated ? aggregatedList() : groupList();
    for (const Group &group : groups()) {
        const std::string root = std::string("/apis/") + group.name;
        if (path == root)
            return groupObject(group);
        for (const std::string &version : group.versions) {
            if (path == root + "/" + version)
                return resourceList(group, version);
        }
    }
    return std::nullopt;
}

} // namespace cluster::local
