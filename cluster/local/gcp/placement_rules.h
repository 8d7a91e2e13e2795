#pragma once

#include "cluster/local/gcp/compute_resources.h"
#include "cluster/local/gcp/pool_request.h"

namespace cluster::local {

// Where the machines of a pool are put, what they are tied to, and the disks they start from. As pure as
// gke_rules; the resources of Compute Engine that a pool names are parameters.

/// Compact placement, by request or by a policy: one zone, no blue-green upgrades.
GoogleStatus checkCompact(const PoolRequest &request);
/// Few machines can be had compactly by flex start. For new pools: GKE marks slices that exist as compact.
GoogleStatus checkCompactFlexStart(const PoolRequest &request);

/// The resource policy that the pool names. TPU7x slices need a workload policy of their topology; other TPUs
/// take none. \param policy  nothing: there is no such policy in the pool's region
GoogleStatus checkPolicy(const PoolRequest &request, const std::optional<ResourcePolicy> &policy,
                         const std::string &project, const GkeCatalog &gke);
/// What Compute Engine says to a TPU7x slice that is placed like older ones.
tl::unexpected<GoogleError> wantsWorkloadPolicy(const std::string &machineType);

/// A reservation that the pool names, in one of its zones. \param used  VMs of it that other pools hold
/// Errors: NotFound; ResourceExhausted when it has not that many VMs of this type left.
GoogleStatus checkReservation(const PoolRequest &request, const std::string &zone,
                              const std::optional<Reservation> &reservation, int used);
/// The form of the affinity itself.
GoogleStatus checkReservationAffinity(const PoolRequest &request);

/// "auto", on Dataplane V2, in one zone, for accelerators that have such networks.
GoogleStatus checkNetworkProfile(const PoolRequest &request, const PoolSurroundings &surroundings);

/// Boot disks, and secondary ones with container images.
GoogleStatus checkDisks(const PoolRequest &request);

} // namespace cluster::local
