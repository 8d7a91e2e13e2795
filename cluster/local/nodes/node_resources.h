#pragma once

#include "cluster/local/nodes/node_pools.h"

#include <cstdint>

namespace cluster::local {

/// What a machine has and what GKE leaves of it to pods.
struct NodeResources
{
    int cpuMilli = 0;
    std::int64_t memoryBytes = 0;
    std::int64_t ephemeralBytes = 0;
};

/// The machine as kubelet sees it: memory is what the kernel has left of it, the disk what its file system
/// has.
NodeResources nodeCapacity(const MachineShape &machine, const PoolSpec &pool);

/// GKE's reservations, https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes: CPU 6 % of
/// the first core, 1 % of the second, 0.5 % of two more, 0.25 % of the rest (400 millicores more above 110
/// pods); memory 25 % of the first 4 GiB, 20 % of 4 more, 10 % of 8 more, 6 % of 112 more, 2 % of the rest,
/// and 100 MiB for eviction; boot disk 10 % for eviction and the least of 50 %, 6 GiB + 35 %, 100 GiB.
NodeResources nodeAllocatable(const NodeResources &capacity, const PoolSpec &pool);

} // namespace cluster::local
