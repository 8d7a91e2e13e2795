#include "cluster/local/gcp/container_parts.h"

#include "cluster/local/gcp/quotas.h"

#include <algorithm>
#include <optional>

namespace cluster::local {

using nlohmann::json;

namespace {

bool isPreemptible(const json &pool)
{
    const auto config = pool.find("config");
    if (config == pool.end())
        return false;
    const auto is = [&](const char *name) { return config->contains(name) && (*config)[name] == true; };
    return is("spot") || is("preemptible") || is("flexStart");
}

/// Nodes of a pool now: the host knows of those that came and went by themselves.
double nodesOf(const json &pool, const std::vector<PoolState> &states)
{
    const auto state = std::find_if(states.begin(), states.end(), [&](const PoolState &other) {
        return other.name == pool.value("name", std::string());
    });
    if (state != states.end())
        return state->nodeCount;
    const auto zones = pool.find("locations");
    return pool.value("initialNodeCount", 0) * static_cast<double>(zones == pool.end() ? 1 : zones->size());
}

} // namespace

GoogleStatus ContainerParts::checkQuota(const std::string &project, const PoolSpec &pool, int nodes) const
{
    if (nodes <= 0 || pool.zones.empty() || !pool.reservationName.empty())
        return {}; // a reservation's share was charged when it was made
    const bool preemptible = pool.provisioning != Provisioning::Standard;
    const std::string &zone = pool.zones.front();
    const auto orderedLimit = [&](const QuotaKey &key) -> std::optional<std::int64_t> {
        FaultContext wanted;
        wanted.service = "container";
        wanted.location = zone;
        wanted.machineType = pool.machineType;
        wanted.pool = pool.name;
        for (const std::string &name : {key.name.metric, key.name.id}) {
            wanted.quota = name;
            if (const auto fault = context.faults.find(FaultKind::Quota, wanted))
                return fault->limit;
        }
        return std::nullopt;
    };
    // What counts by zone is looked at for pools of one.
    const std::string place = pool.zones.size() == 1 ? zone : regionOfZone(zone);
    const auto check = [&](bool isPreemptible) {
        return context.quotas.check(project, pool.machineType, place, isPreemptible, nodes, orderedLimit);
    };
    Status enough = check(preemptible);
    // Flex start draws on the preemptible quota first, then on the standard one.
    if (!enough && pool.provisioning == Provisioning::FlexStart && check(false))
        enough = {};
    return enough ? GoogleStatus{} : tl::unexpected(toGoogleError(enough.error()));
}

json ContainerParts::show(ClusterRecord cluster) const
{
    const std::string status = cluster.wire.value("status", std::string());
    if (status != "PROVISIONING" && status != "ERROR") {
        if (const auto endpoint = host.endpoint(cluster.id))
            showEndpoint(cluster.wire, *endpoint);
    }
    const auto states = host.pools(cluster.id);
    completeClusterJson(cluster.wire, states ? &*states : nullptr);
    return std::move(cluster.wire);
}

double ContainerParts::usage(const std::string &project, const QuotaKey &key) const
{
    const auto clusters = store.clusters(project, "-");
    if (!clusters)
        return 0;
    double sum = 0;
    for (const ClusterRecord &cluster : *clusters) {
        const auto states = host.pools(cluster.id);
        const std::vector<PoolState> known = states ? *states : std::vector<PoolState>();
        const auto pools = cluster.wire.find("nodePools");
        if (pools == cluster.wire.end())
            continue;
        for (const json &pool : *pools) {
            const auto zones = pool.find("locations");
            const auto config = pool.find("config");
            if (zones == pool.end() || zones->empty() || config == pool.end())
                continue;
            const double nodes = nodesOf(pool, known) / static_cast<double>(zones->size()); // of each zone
            for (const json &zone : *zones) {
                const auto demands = context.quotas.demandOf(config->value("machineType", std::string()),
                                                             zone.get<std::string>(), isPreemptible(pool));
                for (const QuotaDemand &demand : demands) {
                    if (demand.key == key)
                        sum += demand.perNode * nodes;
                }
            }
        }
    }
    return sum;
}

} // namespace cluster::local
