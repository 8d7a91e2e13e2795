#include "cluster/local/gcp/pool_methods.h"

#include "cluster/local/gcp/gke_rules.h"
#include "cluster/local/gcp/pool_resources.h"

#include <algorithm>
#include <array>

namespace cluster::local {

using nlohmann::json;

namespace {

GoogleStatus checkMutable(const ClusterRecord &record, PoolMethods::Caller caller)
{
    if (caller == PoolMethods::Caller::User && surroundingsOf(record.wire).isAutopilot)
        return invalidArgument("Autopilot clusters do not support mutating node pools.");
    const std::string status = record.wire.value("status", std::string());
    if (status == "RUNNING" || status == "DEGRADED")
        return {};
    return googleFail(ErrorCode::FailedPrecondition,
                      "Cluster " + record.key.name + " is in status " + status
                          + "; node pools can only be changed while it is RUNNING.");
}

GoogleResult<PoolRequest> read(const json &pool, const ClusterRecord &record)
{
    return poolRequestOf(pool, surroundingsOf(record.wire), GkeCatalog::builtIn(), ComputeCatalog::builtIn());
}

/// Fields of an update that go to `config`, as they are.
constexpr std::array<const char *, 7> kPoolConfigFields{
    "imageType",     "workloadMetadataConfig", "gvnic",        "gcfsConfig",
    "kubeletConfig", "linuxNodeConfig",        "loggingConfig"};

/// What of a pool can be changed in place. False: nothing that is known.
bool applyPoolUpdate(json &pool, const json &update)
{
    bool isKnown = false;
    json &config = pool["config"];
    constexpr std::array<std::pair<const char *, const char *>, 3> wrapped{
        {{"labels", "labels"}, {"resourceLabels", "labels"}, {"tags", "tags"}}};
    for (const auto &[field, inner] : wrapped) {
        if (const auto value = update.find(field); value != update.end()) {
            config[field] = value->value(inner, json());
            if (config[field].is_null())
                config.erase(field);
            isKnown = true;
        }
    }
    if (const auto taints = update.find("taints"); taints != update.end()) {
        json wanted = taints->value("taints", json::array());
        for (const json &taint : config.value("taints", json::array())) {
            const std::string key = taint.value("key", std::string());
            if (key == "google.com/tpu" || key == "nvidia.com/gpu")
                wanted.push_back(taint); // the machine's own
        }
        config["taints"] = std::move(wanted);
        isKnown = true;
    }
    for (const char *field : kPoolConfigFields) {
        if (const auto value = update.find(field); value != update.end()) {
            config[field] = *value;
            isKnown = true;
        }
    }
    for (const char *field : {"upgradeSettings", "locations"}) {
        if (const auto value = update.find(field); value != update.end() && !value->empty()) {
            pool[field] = *value;
            isKnown = true;
        }
    }
    return isKnown;
}

/// Machine, disk and shape of a slice are for its life.
GoogleStatus checkImmutable(const PoolRequest &pool, const json &update)
{
    for (const char *field : {"machineType", "diskType", "diskSizeGb", "accelerators", "locations"}) {
        if (update.contains(field) && pool.spec.isMultiHost)
            return invalidArgument(std::string("Multi-host TPU node pools are immutable: \"") + field
                                   + "\" can't be changed; delete the node pool and create it anew.");
    }
    return {};
}

/// A pool with other zones or another strategy of upgrades has to keep the rules of where it is.
GoogleStatus checkChanged(const json &pool, const ClusterRecord &record)
{
    const auto request = read(pool, record);
    if (!request)
        return tl::unexpected(request.error());
    return checkPlaces(*request, surroundingsOf(record.wire), ComputeCatalog::builtIn());
}

} // namespace

GoogleResult<json> PoolMethods::create(const Project &project, const ClusterKey &key, const json &body)
{
    const json &asked = body.at("nodePool");
    const std::string name = asked.value("name", std::string());
    OperationRecord operation = m_parts.operations.make("CREATE_NODE_POOL", key, name, project.number);
    const auto begun = m_parts.store.begin(key, operation, [&](ClusterRecord &record) -> GoogleStatus {
        if (record.pool(name))
            return googleFail(ErrorCode::AlreadyExists,
                              "Already exists: projects/" + key.project
                                  + (isZone(key.location) ? "/zones/" : "/locations/") + key.location
                                  + "/clusters/" + key.name + "/nodePools/" + name + ".");
        if (auto mutableNow = checkMutable(record, m_caller); !mutableNow)
            return mutableNow;
        const auto whole = withPolicyTopology(asked, m_parts, key);
        if (!whole)
            return tl::unexpected(whole.error());
        auto request = read(*whole, record);
        if (!request)
            return tl::unexpected(request.error());
        const PoolSurroundings surroundings = surroundingsOf(record.wire);
        auto version = checkNodeVersion(request->spec.version, surroundings.version, GkeCatalog::builtIn());
        if (!version)
            return tl::unexpected(version.error());
        request->spec.version = *version;
        if (auto ok = checkPool(*request, surroundings, GkeCatalog::builtIn(), ComputeCatalog::builtIn());
            !ok)
            return ok;
        if (auto fits = checkPoolResources(*request, m_parts, key); !fits)
            return fits;
        if (auto enough = m_parts.checkQuota(project.id, request->spec, request->spec.nodeCount); !enough)
            return enough;
        record.wire["nodePools"].push_back(newPoolJson(*whole, *request, record, m_parts.names(project)));
        record.wire["status"] = "RECONCILING";
        return {};
    });
    if (!begun)
        return tl::unexpected(begun.error());
    m_parts.operations.run(operation);
    return operation.wire;
}

GoogleResult<json> PoolMethods::start(const std::string &type, const Project &project, const ClusterKey &key,
                                      const std::string &pool, const Change &change)
{
    OperationRecord operation = m_parts.operations.make(type, key, pool, project.number);
    const auto begun = m_parts.store.begin(key, operation, [&](ClusterRecord &record) -> GoogleStatus {
        json *found = record.pool(pool);
        if (!found)
            return googleFail(ErrorCode::NotFound, "Not found: " + key.path() + "/nodePools/" + pool + ".");
        if (auto mutableNow = checkMutable(record, m_caller); !mutableNow)
            return mutableNow;
        operation.before = *found;
        if (auto changed = change(record, *found); !changed)
            return changed;
        record.wire["status"] = "RECONCILING";
        return {};
    });
    if (!begun)
        return tl::unexpected(begun.error());
    m_parts.operations.run(operation);
    return operation.wire;
}

GoogleResult<json> PoolMethods::setSize(const Project &project, const ClusterKey &key,
                                        const std::string &pool, const json &body)
{
    const auto wanted = body.contains("nodeCount") ? integerOf(body["nodeCount"]) : 0;
    return start(
        "SET_NODE_POOL_SIZE", project, key, pool, [&](ClusterRecord &record, json &found) -> GoogleStatus {
            auto now = read(found, record);
            if (!now)
                return tl::unexpected(now.error());
            const int perZone = static_cast<int>(std::clamp<std::int64_t>(wanted, -1, 15000));
            if (auto allowed = checkResize(now->spec, perZone, m_caller == Caller::Gke); !allowed)
                return allowed;
            const int more = perZone * static_cast<int>(now->spec.zones.size()) - now->spec.nodeCount;
            if (auto enough = m_parts.checkQuota(project.id, now->spec, more); !enough)
                return enough;
            found["initialNodeCount"] = perZone;
            found["status"] = "RECONCILING";
            return {};
        });
}

GoogleResult<json> PoolMethods::setAutoscaling(const Project &project, const ClusterKey &key,
                                               const std::string &pool, const json &body)
{
    return start("UPDATE_CLUSTER", project, key, pool,
                 [&](ClusterRecord &record, json &found) -> GoogleStatus {
                     found["autoscaling"] = body.value("autoscaling", json::object());
                     auto wanted = read(found, record);
                     if (!wanted)
                         return tl::unexpected(wanted.error());
                     found["status"] = "RECONCILING";
                     return wanted->spec.isAutoscaled ? checkAutoscaling(*wanted) : GoogleStatus{};
                 });
}

GoogleResult<json> PoolMethods::setManagement(const Project &project, const ClusterKey &key,
                                              const std::string &pool, const json &body)
{
    return start("SET_NODE_POOL_MANAGEMENT", project, key, pool,
                 [&](ClusterRecord &, json &found) -> GoogleStatus {
                     found["management"] = body.value("management", json::object());
                     found["status"] = "RECONCILING";
                     return {};
                 });
}

GoogleResult<json> PoolMethods::update(const Project &project, const ClusterKey &key, const std::string &pool,
                                       const json &body)
{
    const std::string wanted = body.value("nodeVersion", std::string());
    const char *type = wanted.empty() ? "UPDATE_CLUSTER" : "UPGRADE_NODES";
    return start(type, project, key, pool, [&](ClusterRecord &record, json &found) -> GoogleStatus {
        auto now = read(found, record);
        if (!now)
            return tl::unexpected(now.error());
        if (auto allowed = checkImmutable(*now, body); !allowed)
            return allowed;
        const bool isChanged = applyPoolUpdate(found, body);
        if (!isChanged && wanted.empty())
            return invalidArgument("Must specify a field to update.");
        const PoolSurroundings surroundings = surroundingsOf(record.wire);
        if (auto fits = checkChanged(found, record); !fits)
            return fits;
        if (!wanted.empty()) {
            const auto version = checkNodeVersion(wanted, surroundings.version, GkeCatalog::builtIn());
            if (!version)
                return tl::unexpected(version.error());
            found["version"] = *version;
        }
        found["status"] = "RECONCILING";
        return {};
    });
}

GoogleResult<json> PoolMethods::remove(const Project &project, const ClusterKey &key, const std::string &pool)
{
    return start("DELETE_NODE_POOL", project, key, pool, [](ClusterRecord &, json &found) -> GoogleStatus {
        found["status"] = "STOPPING";
        return {};
    });
}

} // namespace cluster::local
