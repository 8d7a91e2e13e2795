#pragma once

#include "cluster/local/gcp/pool_request.h"

namespace cluster::local {

// What GKE refuses, in its words. Pure: the catalogues and the cluster are parameters. Sources of the rules:
// the GKE documentation, and texts that users quote; where the exact words are not known, ours say the same.

GoogleStatus checkClusterName(const std::string &name);
GoogleStatus checkPoolName(const std::string &name);
/// A zone or a region of Compute Engine. Errors: PermissionDenied, as Google says it.
GoogleStatus checkLocation(const std::string &location, const ComputeCatalog &compute);
/// Zones of the cluster's region, each once.
GoogleStatus checkNodeZones(const std::string &location, const std::vector<std::string> &zones,
                            const ComputeCatalog &compute);
/// The full version of the control plane. Errors: InvalidArgument.
GoogleResult<std::string> checkMasterVersion(const std::string &wanted, const std::string &channel,
                                             const GkeCatalog &gke);
/// Not newer than the control plane, and not more than two minor versions older.
GoogleResult<std::string> checkNodeVersion(const std::string &wanted, const std::string &masterVersion,
                                           const GkeCatalog &gke);

/// All that holds for a new pool: machine type and accelerator in its zones, shape of a slice, versions,
/// limits of autoscaling, ways of buying.
GoogleStatus checkPool(const PoolRequest &request, const PoolSurroundings &surroundings,
                       const GkeCatalog &gke, const ComputeCatalog &compute);
/// Of these what depends on the pool's zones, which a pool that exists may change.
GoogleStatus checkPlaces(const PoolRequest &request, const PoolSurroundings &surroundings,
                         const ComputeCatalog &compute);
/// `perZone` nodes instead of what there is. Users can't resize slices; the autoscaler may, to none or all.
GoogleStatus checkResize(const PoolSpec &pool, int perZone, bool byAutoscaler = false);
/// New limits for a pool that exists.
GoogleStatus checkAutoscaling(const PoolRequest &request);

/// How many VMs form the pool's slice; 0 for a pool that is none.
int hostsOfSlice(const PoolSpec &pool);

} // namespace cluster::local
