#include "cluster/local/tpuwebhook/ray_cluster_rules.h"

#include "cluster/local/nodes/json_access.h"
#include "cluster/local/tpuwebhook/tpu_demand.h"

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using json_access::at;

Status checkGroup(const Json &group)
{
    const Json &spec = at(at(group, "template"), "spec");
    const Json &containers = at(spec, "containers");
    const bool hasContainers = containers.is_array() && !containers.empty();
    const TpuDemand demand = tpuDemand(spec);
    if (hasContainers && demand.isEmpty())
        return {};
    const Json &numOfHosts = at(group, "numOfHosts");
    const long hosts = numOfHosts.is_number_integer() ? numOfHosts.get<long>() : 0;
    if (hosts == 0)
        return fail(ErrorCode::InvalidArgument, "workerGroupSpec NumOfHosts not set");
    if (!hasContainers)
        return fail(ErrorCode::InvalidArgument, "Container path not specified");
    const std::string topology = tpuTopology(spec);
    if (topology.empty())
        return fail(ErrorCode::InvalidArgument, "TPU topology not specified");
    const auto expected = hostsOfSlice(topology, demand.chipsPerHost);
    if (!expected)
        return tl::unexpected(expected.error());
    if (*expected != hosts)
        return fail(ErrorCode::PermissionDenied,
                    "Number of workers in worker group not equal to specified topology");
    return {};
}

} // namespace

Status checkTpuGroups(const Json &rayCluster)
{
    for (const Json &group : at(at(rayCluster, "spec"), "workerGroupSpecs")) {
        if (Status judged = checkGroup(group); !judged)
            return judged;
    }
    return {};
}

} // namespace cluster::local
