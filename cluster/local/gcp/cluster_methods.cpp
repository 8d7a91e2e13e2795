#include "cluster/local/gcp/cluster_methods.h"

#include "cluster/local/gcp/gke_rules.h"
#include "cluster/local/gcp/json_members.h"
#include "cluster/local/gcp/pool_resources.h"
#include "cluster/local/gcp/wire_values.h"

#include <array>
#include <set>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::size_t kZonesOfRegion = 3; // GKE's default for the nodes of a regional cluster

/// Fields of an update whose value replaces that of the cluster. Left: in the request.
constexpr std::array<std::pair<const char *, const char *>, 12> kReplaced{{
    {"desiredMonitoringConfig", "monitoringConfig"},
    {"desiredLoggingConfig", "loggingConfig"},
    {"desiredMonitoringService", "monitoringService"},
    {"desiredLoggingService", "loggingService"},
    {"desiredReleaseChannel", "releaseChannel"},
    {"desiredVerticalPodAutoscaling", "verticalPodAutoscaling"},
    {"desiredClusterAutoscaling", "autoscaling"},
    {"desiredShieldedNodes", "shieldedNodes"},
    {"desiredNotificationConfig", "notificationConfig"},
    {"desiredSecurityPostureConfig", "securityPostureConfig"},
    {"desiredMasterAuthorizedNetworksConfig", "masterAuthorizedNetworksConfig"},
    {"desiredCostManagementConfig", "costManagementConfig"},
}};

std::vector<std::string> nodeZones(const json &asked, const std::string &location)
{
    std::vector<std::string> zones;
    if (const auto named = asked.find("locations"); named != asked.end() && named->is_array())
        zones = named->get<std::vector<std::string>>();
    if (!zones.empty())
        return zones;
    if (isZone(location))
        return {location};
    zones = ComputeCatalog::builtIn().regions().at(location);
    if (zones.size() > kZonesOfRegion)
        zones.resize(kZonesOfRegion);
    return zones;
}

/// Pools as they are asked for, also in the form of old clients.
json poolsOf(const json &asked)
{
    if (const auto pools = asked.find("nodePools");
        pools != asked.end() && pools->is_array() && !pools->empty())
        return *pools;
    json pool{{"name", "default-pool"}, {"initialNodeCount", asked.value("initialNodeCount", 3)}};
    if (const auto config = asked.find("nodeConfig"); config != asked.end())
        pool["config"] = *config;
    return json::array({std::move(pool)});
}

GoogleStatus checkWorkloadPool(const json &config, const std::string &project)
{
    if (!config.is_object() || !config.contains("workloadPool"))
        return {};
    const std::string pool = textMember(config, "workloadPool");
    const std::string only = project + ".svc.id.goog";
    if (pool.empty() || pool == only)
        return {};
    return googleFail(ErrorCode::InvalidArgument,
                      "Invalid workload pool \"" + pool + "\": the only supported workload pool is \"" + only
                          + "\".");
}

GoogleStatus checkAutopilot(const json &asked, const std::string &location)
{
    if (!isAutopilot(asked) || !isZone(location))
        return {};
    return googleFail(ErrorCode::InvalidArgument, "Autopilot clusters must be regional clusters.");
}

/// GKE takes one change at a time; logging and monitoring count as one.
GoogleStatus checkOneThing(const json &update)
{
    std::set<std::string> changes;
    for (const auto &[name, value] : update.items()) {
        if (!name.starts_with("desired"))
            continue;
        const bool isObserved = name.starts_with("desiredLogging") || name.starts_with("desiredMonitoring");
        changes.insert(isObserved ? "desiredLogging and desiredMonitoring" : name);
    }
    if (changes.size() < 2)
        return {};
    std::string names;
    for (const std::string &name : changes)
        names += (names.empty() ? "" : ", ") + name;
    return googleFail(ErrorCode::InvalidArgument,
                      "Only one field of a cluster can be updated with each request; found: " + names + ".");
}

/// What one update changes. False: nothing that is known.
bool applyUpdate(json &wire, const json &update)
{
    bool isKnown = false;
    if (const auto addons = update.find("desiredAddonsConfig"); addons != update.end()) {
        mergeAddons(wire["addonsConfig"], *addons);
        isKnown = true;
    }
    if (const auto workload = update.find("desiredWorkloadIdentityConfig"); workload != update.end()) {
        if (textMember(*workload, "workloadPool").empty())
            wire.erase("workloadIdentityConfig");
        else
            wire["workloadIdentityConfig"] = *workload;
        isKnown = true;
    }
    if (const auto zones = update.find("desiredLocations"); zones != update.end()) {
        wire["locations"] = *zones;
        isKnown = true;
    }
    for (const auto &[desired, field] : kReplaced) {
        if (const auto value = update.find(desired); value != update.end()) {
            wire[field] = *value;
            isKnown = true;
        }
    }
    return isKnown;
}

} // namespace

GoogleResult<json> ClusterMethods::start(OperationRecord &operation,
                                         const std::function<GoogleStatus(ClusterRecord &)> &change)
{
    const auto begun = m_parts.store.begin(operation.cluster, operation, change);
    if (!begun)
        return tl::unexpected(begun.error());
    m_parts.operations.run(operation);
    return operation.wire;
}

GoogleStatus ClusterMethods::addPools(ClusterRecord &record, const json &asked, const ContainerNames &names)
{
    const PoolSurroundings surroundings = surroundingsOf(record.wire);
    record.wire["nodePools"] = json::array();
    for (const json &given : poolsOf(asked)) {
        const auto pool = withPolicyTopology(given, m_parts, record.key);
        if (!pool)
            return tl::unexpected(pool.error());
        auto request = poolRequestOf(*pool, surroundings, GkeCatalog::builtIn(), ComputeCatalog::builtIn());
        if (!request)
            return tl::unexpected(request.error());
        const auto allowed
            = checkPool(*request, surroundings, GkeCatalog::builtIn(), ComputeCatalog::builtIn());
        if (!allowed)
            return allowed;
        if (auto fits = checkPoolResources(*request, m_parts, record.key); !fits)
            return fits;
        if (!surroundings.isAutopilot) {
            const auto enough = m_parts.checkQuota(names.projectId, request->spec, request->spec.nodeCount);
            if (!enough)
                return enough;
        }
        if (record.pool(request->spec.name))
            return googleFail(ErrorCode::InvalidArgument,
                              "Node pool \"" + request->spec.name + "\" is named twice.");
        record.wire["nodePools"].push_back(newPoolJson(*pool, *request, record, names));
    }
    return {};
}

GoogleResult<json> ClusterMethods::create(const Project &project, const std::string &location,
                                          const json &body)
{
    const json &asked = body.at("cluster");
    ClusterRecord record;
    record.key = {project.id, location, textMember(asked, "name")};
    if (auto known = checkLocation(location, ComputeCatalog::builtIn()); !known)
        return tl::unexpected(known.error());
    if (auto named = checkClusterName(record.key.name); !named)
        return tl::unexpected(named.error());
    if (m_parts.store.cluster(record.key))
        return googleFail(ErrorCode::AlreadyExists, "Already exists: " + record.key.path() + ".");
    if (auto regional = checkAutopilot(asked, location); !regional)
        return tl::unexpected(regional.error());
    const auto channel = asked.find("releaseChannel");
    const auto version = checkMasterVersion(
        textMember(asked, "initialClusterVersion"),
        channel == asked.end() ? std::string() : textMember(*channel, "channel"), GkeCatalog::builtIn());
    if (!version)
        return tl::unexpected(version.error());
    const auto zones = nodeZones(asked, location);
    if (auto fitting = checkNodeZones(location, zones, ComputeCatalog::builtIn()); !fitting)
        return tl::unexpected(fitting.error());
    if (auto workload = checkWorkloadPool(asked.value("workloadIdentityConfig", json()), project.id);
        !workload)
        return tl::unexpected(workload.error());

    record.id = randomHex(64);
    const ContainerNames names = m_parts.names(project);
    record.wire = newClusterJson(asked, record, names, *version, zones);
    if (auto pools = addPools(record, asked, names); !pools)
        return tl::unexpected(pools.error());
    const OperationRecord operation
        = m_parts.operations.make("CREATE_CLUSTER", record.key, {}, project.number);
    if (auto written = m_parts.store.create(std::move(record), operation); !written)
        return tl::unexpected(written.error());
    m_parts.operations.run(operation);
    return operation.wire;
}

GoogleResult<json> ClusterMethods::upgrade(const Project &project, const ClusterKey &key, const json &update)
{
    OperationRecord operation = m_parts.operations.make("UPGRADE_MASTER", key, {}, project.number);
    return start(operation, [&](ClusterRecord &record) -> GoogleStatus {
        const auto version = checkMasterVersion(textMember(update, "desiredMasterVersion"),
                                                record.wire["releaseChannel"].value("channel", std::string()),
                                                GkeCatalog::builtIn());
        if (!version)
            return tl::unexpected(version.error());
        const auto old = record.wire.value("currentMasterVersion", std::string());
        if (GkeVersion::parse(*version) < GkeVersion::parse(old))
            return googleFail(ErrorCode::InvalidArgument,
                              "Master cannot be downgraded to \"" + *version + "\" from \"" + old + "\".");
        record.wire["currentMasterVersion"] = *version;
        record.wire["status"] = "RECONCILING";
        return {};
    });
}

GoogleResult<json> ClusterMethods::update(const Project &project, const ClusterKey &key, const json &body)
{
    const json update = body.value("update", json::object());
    if (auto one = checkOneThing(update); !one)
        return tl::unexpected(one.error());
    if (update.contains("desiredDatapathProvider"))
        return googleFail(ErrorCode::InvalidArgument,
                          "Datapath provider can't be changed; it is chosen when the cluster is created.");
    if (update.contains("desiredMasterVersion"))
        return upgrade(project, key, update);
    if (auto workload = checkWorkloadPool(update.value("desiredWorkloadIdentityConfig", json()), project.id);
        !workload)
        return tl::unexpected(workload.error());
    if (const auto zones = update.find("desiredLocations"); zones != update.end()) {
        auto fitting
            = checkNodeZones(key.location, zones->get<std::vector<std::string>>(), ComputeCatalog::builtIn());
        if (!fitting)
            return tl::unexpected(fitting.error());
    }
    OperationRecord operation = m_parts.operations.make("UPDATE_CLUSTER", key, {}, project.number);
    return start(operation, [&](ClusterRecord &record) -> GoogleStatus {
        operation.before = record.wire;
        if (!applyUpdate(record.wire, update))
            return googleFail(ErrorCode::InvalidArgument, "Must specify a field to update.");
        record.wire["status"] = "RECONCILING";
        return {};
    });
}

GoogleResult<json> ClusterMethods::setAddons(const Project &project, const ClusterKey &key, const json &body)
{
    return update(project, key, {{"update", {{"desiredAddonsConfig", body.at("addonsConfig")}}}});
}

GoogleResult<json> ClusterMethods::setLabels(const Project &project, const ClusterKey &key, const json &body)
{
    OperationRecord operation = m_parts.operations.make("SET_LABELS", key, {}, project.number);
    return start(operation, [&](ClusterRecord &record) -> GoogleStatus {
        record.wire["resourceLabels"] = body.value("resourceLabels", json::object());
        record.wire["status"] = "RECONCILING";
        return {};
    });
}

GoogleResult<json> ClusterMethods::remove(const Project &project, const ClusterKey &key)
{
    OperationRecord operation = m_parts.operations.make("DELETE_CLUSTER", key, {}, project.number);
    return start(operation, [](ClusterRecord &record) -> GoogleStatus {
        record.wire["status"] = "STOPPING";
        return {};
    });
}

} // namespace cluster::local
