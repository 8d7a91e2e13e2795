#include "cluster/local/gcp/container_service.h"

#include "cluster/local/gcp/container_messages.h"
#include "cluster/local/gcp/enabled_apis.h"
#include "cluster/local/gcp/gke_rules.h"
#include "cluster/local/gcp/quotas.h"
#include "cluster/local/gcp/wire_values.h"

#include <algorithm>

namespace cluster::local {

using nlohmann::json;

/// projects/P/locations/L/clusters/C/nodePools/N:verb
struct ContainerService::Route
{
    Project project;
    std::string version; ///< "v1"
    std::string projectName; ///< as the path has it
    std::string location;
    std::string kind; ///< "clusters", "operations", "serverConfig"
    std::string name;
    std::string poolKind; ///< "nodePools"
    std::string pool;
    std::string verb; ///< behind the colon of the last part

    [[nodiscard]] ClusterKey cluster() const { return {project.id, location, name}; }
};

namespace {

json operationsOf(const std::vector<OperationRecord> &records)
{
    json list = json::array();
    for (const OperationRecord &record : records)
        list.push_back(record.wire);
    // GKE shows the newest first.
    std::sort(list.begin(), list.end(), [](const json &a, const json &b) {
        return a.value("startTime", std::string()) > b.value("startTime", std::string());
    });
    return list;
}

tl::unexpected<GoogleError> noMethod(const ServerRequest &request)
{
    return tl::unexpected(GoogleError{ErrorCode::NotFound,
                                      "Method not found: " + request.method + " " + request.path + ".",
                                      json::array(), 404});
}

bool isVersion(const std::string &text)
{
    return text == "v1" || text == "v1beta1" || text == "v1alpha1";
}

} // namespace

ContainerService::ContainerService(GcpContext &context, ClusterHost &host)
    : m_context(context), m_host(host), m_store(context.documents), m_operations(context, m_store, host),
      m_clusterMethods(parts()), m_poolMethods(parts())
{
    context.quotas.setUsage(
        [this](const std::string &project, const QuotaKey &key) { return parts().usage(project, key); });
}

ContainerService::~ContainerService()
{
    m_context.quotas.setUsage(nullptr);
}

void ContainerService::start()
{
    m_operations.resume();
}

void ContainerService::stop()
{
    m_operations.stop();
}

bool ContainerService::readRoute(std::span<const std::string> path, Route &route)
{
    if (path.size() < 6 || path.size() > 9 || !isVersion(path[0]) || path[1] != "projects"
        || (path[3] != "locations" && path[3] != "zones"))
        return false;
    std::vector<std::string> parts(path.begin(), path.end());
    if (const auto colon = parts.back().find(':'); colon != std::string::npos) {
        route.verb = parts.back().substr(colon + 1);
        parts.back().resize(colon);
    }
    parts.resize(std::max<std::size_t>(parts.size(), 9));
    route.version = parts[0];
    route.projectName = parts[2];
    route.location = parts[4];
    route.kind = parts[5] == "serverconfig" ? "serverConfig" : parts[5];
    route.name = parts[6];
    route.poolKind = parts[7];
    route.pool = parts[8];
    return true;
}

ServerResponse ContainerService::handle(const ServerRequest &request, std::span<const std::string> path)
{
    Route route;
    if (!readRoute(path, route))
        return unknownMethodResponse(request);
    const Projects projects(m_context);
    auto project = projects.require(route.projectName);
    if (!project)
        return errorResponse(project.error());
    route.project = std::move(*project);
    const auto enabled = EnabledApis(m_context).require(route.project, "container.googleapis.com");
    if (!enabled)
        return errorResponse(enabled.error());
    const Answer answered = answer(request, route);
    return answered ? jsonResponse(*answered) : errorResponse(answered.error());
}

ContainerService::Answer ContainerService::answer(const ServerRequest &request, const Route &route)
{
    if (route.kind == "serverConfig" && request.method == "GET")
        return serverConfig(route);
    if (route.kind == "operations")
        return operations(request, route);
    if (route.kind != "clusters")
        return noMethod(request);
    if (route.name.empty())
        return clusters(request, route);
    if (route.poolKind.empty())
        return route.verb.empty() ? oneCluster(request, route) : clusterVerb(request, route);
    if (route.poolKind != "nodePools")
        return noMethod(request);
    return route.pool.empty() ? pools(request, route) : onePool(request, route);
}

ContainerService::Answer ContainerService::clusters(const ServerRequest &request, const Route &route)
{
    if (request.method == "POST")
        return withBody(request, route, kCreateClusterRequest, [&](const json &body) {
            return m_clusterMethods.create(route.project, route.location, body);
        });
    if (request.method != "GET")
        return noMethod(request);
    auto records = m_store.clusters(route.project.id, route.location);
    if (!records)
        return tl::unexpected(records.error());
    json list = json::array();
    for (ClusterRecord &record : *records)
        list.push_back(parts().show(std::move(record)));
    return list.empty() ? json::object() : json{{"clusters", std::move(list)}};
}

ContainerService::Answer ContainerService::oneCluster(const ServerRequest &request, const Route &route)
{
    if (request.method == "PUT")
        return withBody(request, route, kUpdateClusterRequest,
                        [&](const json &body) { return updateCluster(route, body); });
    if (request.method == "DELETE")
        return m_clusterMethods.remove(route.project, route.cluster());
    if (request.method != "GET")
        return noMethod(request);
    auto record = m_store.cluster(route.cluster());
    if (!record)
        return tl::unexpected(record.error());
    return parts().show(std::move(*record));
}

/// What the method says to the body, once that has the form of its message.
ContainerService::Answer ContainerService::withBody(const ServerRequest &request, const Route &route,
                                                    const MessageShape &shape,
                                                    const std::function<Answer(const json &body)> &method)
{
    const auto body = readMessage(bodyOf(request), shape, "google.container." + route.version);
    return body ? method(*body) : Answer(tl::unexpected(body.error()));
}

/// Some updates of a cluster are of one of its pools: gcloud's autoscaling and upgrades.
ContainerService::Answer ContainerService::updateCluster(const Route &route, const json &body)
{
    const json update = body.value("update", json::object());
    const std::string pool = update.value("desiredNodePoolId", std::string());
    if (update.contains("desiredNodePoolAutoscaling"))
        return m_poolMethods.setAutoscaling(route.project, route.cluster(), pool,
                                            {{"autoscaling", update["desiredNodePoolAutoscaling"]}});
    if (update.contains("desiredNodeVersion"))
        return m_poolMethods.update(route.project, route.cluster(), pool,
                                    {{"nodeVersion", update["desiredNodeVersion"]}});
    return m_clusterMethods.update(route.project, route.cluster(), body);
}

ContainerService::Answer ContainerService::clusterVerb(const ServerRequest &request, const Route &route)
{
    if (request.method != "POST")
        return noMethod(request);
    if (route.verb == "setAddons")
        return withBody(request, route, kSetAddonsRequest, [&](const json &body) {
            return m_clusterMethods.setAddons(route.project, route.cluster(), body);
        });
    if (route.verb == "setResourceLabels")
        return withBody(request, route, kSetLabelsRequest, [&](const json &body) {
            return m_clusterMethods.setLabels(route.project, route.cluster(), body);
        });
    if (route.verb == "setLocations")
        return withBody(request, route, kSetLocationsRequest, [&](const json &body) {
            return m_clusterMethods.update(route.project, route.cluster(),
                                           {{"update", {{"desiredLocations", body.at("locations")}}}});
        });
    if (route.verb == "updateMaster")
        return withBody(request, route, kUpdateMasterRequest, [&](const json &body) {
            return m_clusterMethods.update(
                route.project, route.cluster(),
                {{"update", {{"desiredMasterVersion", body.at("masterVersion")}}}});
        });
    return noMethod(request);
}

ContainerService::Answer ContainerService::pools(const ServerRequest &request, const Route &route)
{
    if (request.method == "POST")
        return withBody(request, route, kCreateNodePoolRequest, [&](const json &body) {
            return m_poolMethods.create(route.project, route.cluster(), body);
        });
    if (request.method != "GET")
        return noMethod(request);
    auto record = m_store.cluster(route.cluster());
    if (!record)
        return tl::unexpected(record.error());
    const json &list = record->wire["nodePools"];
    return list.empty() ? json::object() : json{{"nodePools", list}};
}

ContainerService::Answer ContainerService::poolVerb(const ServerRequest &request, const Route &route)
{
    const ClusterKey key = route.cluster();
    if (route.verb == "setSize")
        return withBody(request, route, kSetSizeRequest, [&](const json &body) {
            return m_poolMethods.setSize(route.project, key, route.pool, body);
        });
    if (route.verb == "setAutoscaling")
        return withBody(request, route, kSetAutoscalingRequest, [&](const json &body) {
            return m_poolMethods.setAutoscaling(route.project, key, route.pool, body);
        });
    if (route.verb == "setManagement")
        return withBody(request, route, kSetManagementRequest, [&](const json &body) {
            return m_poolMethods.setManagement(route.project, key, route.pool, body);
        });
    return noMethod(request);
}

ContainerService::Answer ContainerService::onePool(const ServerRequest &request, const Route &route)
{
    const ClusterKey key = route.cluster();
    if (request.method == "POST")
        return poolVerb(request, route);
    if (request.method == "PUT")
        return withBody(request, route, kUpdateNodePoolRequest, [&](const json &body) {
            return m_poolMethods.update(route.project, key, route.pool, body);
        });
    if (request.method == "DELETE")
        return m_poolMethods.remove(route.project, key, route.pool);
    if (request.method != "GET")
        return noMethod(request);
    auto record = m_store.cluster(key);
    if (!record)
        return tl::unexpected(record.error());
    const json *pool = record->pool(route.pool);
    if (!pool)
        return googleFail(ErrorCode::NotFound, "Not found: " + key.path() + "/nodePools/" + route.pool + ".");
    return *pool;
}

ContainerService::Answer ContainerService::operations(const ServerRequest &request, const Route &route)
{
    if (route.name.empty() && request.method == "GET") {
        const auto records = m_store.operations(route.project.id, route.location);
        if (!records)
            return tl::unexpected(records.error());
        json list = operationsOf(*records);
        return list.empty() ? json::object() : json{{"operations", std::move(list)}};
    }
    auto record = m_store.operation(route.project.id, route.location, route.name);
    if (!record)
        return tl::unexpected(record.error());
    if (request.method == "GET" && route.verb.empty())
        return record->wire;
    if (request.method != "POST" || route.verb != "cancel")
        return noMethod(request);
    return googleFail(ErrorCode::FailedPrecondition,
                      "Operation " + record->id + " of type " + record->type + " cannot be cancelled"
                          + (record->isDone() ? ": it is done." : "."));
}

ContainerService::Answer ContainerService::serverConfig(const Route &route) const
{
    if (auto known = checkLocation(route.location, ComputeCatalog::builtIn()); !known)
        return tl::unexpected(known.error());
    const GkeCatalog &gke = GkeCatalog::builtIn();
    json channels = json::array();
    for (const ReleaseChannel &channel : gke.channels())
        channels.push_back({{"channel", channel.name},
                            {"defaultVersion", channel.defaultVersion},
                            {"validVersions", channel.versions},
                            {"upgradeTargetVersion", channel.defaultVersion}});
    return json{{"defaultClusterVersion", *gke.resolveVersion({}, {})},
                {"defaultImageType", "COS_CONTAINERD"},
                {"validImageTypes", json::array({"COS_CONTAINERD", "UBUNTU_CONTAINERD"})},
                {"validMasterVersions", gke.versions()},
                {"validNodeVersions", gke.versions()},
                {"channels", std::move(channels)}};
}

} // namespace cluster::local
