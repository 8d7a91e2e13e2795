#pragma once

#include "cluster/local/gcp/container_parts.h"

namespace cluster::local {

/// A pool as it was asked for, with what its workload policy says of it: GKE shows the policy's topology
/// beside its name.
GoogleResult<nlohmann::json> withPolicyTopology(nlohmann::json pool, const ContainerParts &parts,
                                                const ClusterKey &cluster);

/// What a new pool names in Compute Engine has to be there and fit: its placement policy, its reservation.
GoogleStatus checkPoolResources(const PoolRequest &request, const ContainerParts &parts,
                                const ClusterKey &cluster);

} // namespace cluster::local
