#include "cluster/local/gcp/pool_resources.h"

#include "cluster/local/gcp/placement_rules.h"

namespace cluster::local {

using nlohmann::json;

namespace {

/// Nodes of one zone that pools of the project take from the reservation.
int usedOf(const std::string &reservation, const std::string &zone, const ContainerParts &parts,
           const ClusterKey &cluster)
{
    const auto clusters = parts.store.clusters(cluster.project, "-");
    int used = 0;
    for (const ClusterRecord &record : clusters.value_or(std::vector<ClusterRecord>())) {
        for (const json &pool : record.wire.value("nodePools", json::array())) {
            if (pool.value("status", std::string()) == "ERROR")
                continue; // its machines never came
            const auto request = poolRequestOf(pool, surroundingsOf(record.wire), GkeCatalog::builtIn(),
                                               ComputeCatalog::builtIn());
            if (request && request->spec.reservationName == reservation
                && std::ranges::find(request->spec.zones, zone) != request->spec.zones.end())
                used += request->initialNodeCount.value_or(0);
        }
    }
    return used;
}

} // namespace

GoogleResult<json> withPolicyTopology(json pool, const ContainerParts &parts, const ClusterKey &cluster)
{
    const auto placement = pool.find("placementPolicy");
    if (placement == pool.end() || !placement->is_object() || placement->contains("tpuTopology"))
        return pool;
    std::string name = placement->value("policyName", std::string());
    name.erase(0, name.rfind('/') + 1);
    const std::string machineType = pool.value("config", json::object()).value("machineType", std::string());
    if (name.empty() || !GkeCatalog::builtIn().tpuMachine(machineType))
        return pool;
    const auto policy
        = resourcePolicy(parts.context.documents, cluster.project, regionOfZone(cluster.location), name);
    if (!policy)
        return tl::unexpected(policy.error());
    if (*policy && !(*policy)->topology.empty())
        (*placement)["tpuTopology"] = (*policy)->topology;
    return pool;
}

GoogleStatus checkPoolResources(const PoolRequest &request, const ContainerParts &parts,
                                const ClusterKey &cluster)
{
    const Documents &documents = parts.context.documents;
    if (!request.placementPolicy.empty()) {
        const auto policy = resourcePolicy(documents, cluster.project, regionOfZone(cluster.location),
                                           request.placementPolicy);
        if (!policy)
            return tl::unexpected(policy.error());
        if (auto fits = checkPolicy(request, *policy, cluster.project, GkeCatalog::builtIn()); !fits)
            return fits;
    }
    if (!request.usesReservation)
        return {};
    for (const std::string &zone : request.spec.zones) {
        const auto found = reservation(documents, cluster.project, zone, request.spec.reservationName);
        if (!found)
            return tl::unexpected(found.error());
        const int used = usedOf(request.spec.reservationName, zone, parts, cluster);
        if (auto fits = checkReservation(request, zone, *found, used); !fits)
            return fits;
    }
    return {};
}

} // namespace cluster::local
