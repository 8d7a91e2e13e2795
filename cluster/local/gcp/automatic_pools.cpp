#include "cluster/local/gcp/automatic_pools.h"

#include "cluster/local/gcp/pool_methods.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::chrono::milliseconds pause{50};

tl::unexpected<Error> plainError(const GoogleError &error)
{
    // Quota comes as PERMISSION_DENIED from GKE; for a scaler it is a lack like any other.
    const bool isQuota = error.message.find("quota") != std::string::npos;
    return fail(isQuota ? ErrorCode::ResourceExhausted : error.code, error.message);
}

std::string effectName(const std::string &effect)
{
    if (effect == "NoSchedule")
        return "NO_SCHEDULE";
    if (effect == "PreferNoSchedule")
        return "PREFER_NO_SCHEDULE";
    return effect == "NoExecute" ? "NO_EXECUTE" : effect;
}

json configOf(const PoolSpec &pool)
{
    json config = {{"machineType", pool.machineType},
                   {"imageType", pool.imageType},
                   {"diskType", pool.diskType},
                   {"diskSizeGb", pool.diskGb},
                   {"labels", pool.labels}};
    for (const NodeTaint &taint : pool.taints)
        config["taints"].push_back(
            {{"key", taint.key}, {"value", taint.value}, {"effect", effectName(taint.effect)}});
    if (!pool.computeClass.empty())
        config["computeClass"] = pool.computeClass;
    if (pool.provisioning == Provisioning::Spot)
        config["spot"] = true;
    if (pool.provisioning == Provisioning::FlexStart)
        config["flexStart"] = true;
    if (!pool.gpuAccelerator.empty())
        config["accelerators"] = json::array(
            {{{"acceleratorType", pool.gpuAccelerator},
              {"acceleratorCount", std::to_string(pool.gpusPerNode)},
              {"gpuDriverInstallationConfig",
               {{"gpuDriverVersion", pool.gpuDriverVersion == "default" ? "DEFAULT" : "LATEST"}}}}});
    if (pool.localSsdCount > 0)
        config["ephemeralStorageLocalSsdConfig"] = {{"localSsdCount", pool.localSsdCount}};
    if (!pool.reservationName.empty())
        config["reservationAffinity"] = {{"consumeReservationType", "SPECIFIC_RESERVATION"},
                                         {"key", "compute.googleapis.com/reservation-name"},
                                         {"values", {pool.reservationName}}};
    return config;
}

} // namespace

json poolJsonOf(const PoolSpec &pool)
{
    const int zones = std::max(1, static_cast<int>(pool.zones.size()));
    json result = {{"name", pool.name},
                   {"config", configOf(pool)},
                   {"locations", pool.zones},
                   {"initialNodeCount", pool.nodeCount / zones},
                   {"maxPodsConstraint", {{"maxPodsPerNode", std::to_string(pool.maxPodsPerNode)}}},
                   {"autoscaling",
                    {{"enabled", pool.isAutoscaled},
                     {"minNodeCount", pool.minNodes / zones},
                     {"maxNodeCount", pool.maxNodes / zones},
                     {"autoprovisioned", pool.isAutoCreated}}}};
    if (pool.isMultiHost)
        result["placementPolicy"] = {{"tpuTopology", pool.tpuTopology}};
    if (pool.provisioning == Provisioning::FlexStart)
        result["management"] = {{"autoUpgrade", true}, {"autoRepair", false}};
    if (!pool.acceleratorNetworkProfile.empty())
        result["networkConfig"] = {{"acceleratorNetworkProfile", pool.acceleratorNetworkProfile}};
    return result;
}

AutomaticPools::AutomaticPools(ContainerParts parts, std::string clusterId,
                               std::function<std::vector<PoolSpec>()> pools, CancelToken cancel)
    : m_parts(parts), m_clusterId(std::move(clusterId)), m_pools(std::move(pools)),
      m_cancel(std::move(cancel))
{
}

Status AutomaticPools::waitFor(const ClusterKey &key, const std::string &operation) const
{
    while (!m_cancel.stop_requested()) {
        const auto record = m_parts.store.operation(key.project, key.location, operation);
        if (!record)
            return plainError(record.error());
        if (record->isDone()) {
            const std::string message = record->wire.value("statusMessage", std::string());
            if (message.empty())
                return {};
            return fail(ErrorCode::ResourceExhausted, message);
        }
        std::this_thread::sleep_for(pause);
    }
    return fail(ErrorCode::Cancelled, "the local target is stopping");
}

Status AutomaticPools::run(const Start &start)
{
    const auto record = m_parts.store.clusterOfId(m_clusterId);
    if (!record)
        return plainError(record.error());
    const auto project = Projects(m_parts.context).require(record->key.project);
    if (!project)
        return plainError(project.error());
    const auto operation = start(*project, record->key);
    if (!operation) {
        if (operation.error().code == ErrorCode::FailedPrecondition)
            return fail(ErrorCode::Aborted, operation.error().message);
        return plainError(operation.error());
    }
    return waitFor(record->key, operation->value("name", std::string()));
}

Status AutomaticPools::resizePool(const std::string &pool, int nodeCount)
{
    const auto all = m_pools();
    const auto found = std::ranges::find(all, pool, &PoolSpec::name);
    if (found == all.end())
        return fail(ErrorCode::NotFound, "no node pool " + pool);
    const int zones = std::max(1, static_cast<int>(found->zones.size()));
    return run([&](const Project &project, const ClusterKey &key) {
        return PoolMethods(m_parts, PoolMethods::Caller::Gke)
            .setSize(project, key, pool, {{"nodeCount", (nodeCount + zones - 1) / zones}});
    });
}

Status AutomaticPools::createPool(const PoolSpec &pool)
{
    Status made = run([&](const Project &project, const ClusterKey &key) {
        return PoolMethods(m_parts, PoolMethods::Caller::Gke)
            .create(project, key, {{"nodePool", poolJsonOf(pool)}});
    });
    // A user's pool stays in ERROR to be looked at; one that GKE wanted is tried again later, maybe under
    // this name.
    if (!made && made.error().code == ErrorCode::ResourceExhausted)
        (void)deletePool(pool.name);
    return made;
}

Status AutomaticPools::deletePool(const std::string &pool)
{
    return run([&](const Project &project, const ClusterKey &key) {
        return PoolMethods(m_parts, PoolMethods::Caller::Gke).remove(project, key, pool);
    });
}

} // namespace cluster::local
