#include "cluster/local/gcp/container_parts.h"

#include "cluster/local/gcp/quotas.h"

#include <algorithm>
#include <cstdio>

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

std::string oneDigit(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
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
    for (const QuotaDemand &demand : context.quotas.demandOf(pool.machineType, zone, preemptible)) {
        FaultContext wanted;
        wanted.service = "container";
        wanted.location = zone;
        wanted.machineType = pool.machineType;
        wanted.pool = pool.name;
        wanted.quota = demand.key.name.metric;
        auto fault = context.faults.find(FaultKind::Quota, wanted);
        wanted.quota = demand.key.name.id;
        if (!fault)
            fault = context.faults.find(FaultKind::Quota, wanted);
        if (!fault)
            continue;
        const double asked = demand.perNode * nodes;
        const auto limit = static_cast<double>(fault->limit);
        const double available = std::max(0.0, limit - usage(project, demand.key));
        if (asked > available)
            return googleFail(ErrorCode::PermissionDenied,
                              "Insufficient regional quota to satisfy request: resource \""
                                  + demand.key.name.metric + "\": request requires '" + oneDigit(asked)
                                  + "' and is short '" + oneDigit(asked - available)
                                  + "'. project has a quota of '" + oneDigit(limit) + "' with '"
                                  + oneDigit(available)
                                  + "' available. View and manage quotas at "
                                    "https://console.cloud.google.com/iam-admin/quotas?usage=USED&project="
                                  + project + ".");
    }
    const Status enough = context.quotas.check(project, pool.machineType, zone, preemptible, nodes);
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
            const auto demands
                = context.quotas.demandOf(config->value("machineType", std::string()),
                                          zones->front().get<std::string>(), isPreemptible(pool));
            for (const QuotaDemand &demand : demands) {
                if (demand.key == key)
                    sum += demand.perNode * nodesOf(pool, known);
            }
        }
    }
    return sum;
}

} // namespace cluster::local
