#pragma once

#include "cluster/local/gcp/cluster_host.h"
#include "cluster/local/gcp/container_store.h"
#include "cluster/local/gcp/pool_request.h"

namespace cluster::local {

/// What goes into links and names.
struct ContainerNames
{
    std::string projectId;
    std::string projectNumber;
    std::string timestamp; ///< RFC 3339
};

/// The Cluster of the API as GKE would show it while it is made: what was asked, with GKE's defaults.
/// `version` is resolved, `zones` are those of the nodes. Without its nodePools.
nlohmann::json newClusterJson(const nlohmann::json &asked, const ClusterRecord &record,
                              const ContainerNames &names, const std::string &version,
                              const std::vector<std::string> &zones);

/// The same for a NodePool.
nlohmann::json newPoolJson(const nlohmann::json &asked, const PoolRequest &request,
                           const ClusterRecord &record, const ContainerNames &names);

/// The fields of old clients (zone, initialNodeCount, nodeConfig, instanceGroupUrls) and sums over the pools.
/// `states` come from the host; without them the counts are those that were asked for.
void completeClusterJson(nlohmann::json &cluster, const std::vector<PoolState> *states);

/// How the cluster has to be, for the host.
ClusterSpec clusterSpecOf(const ClusterRecord &record);
PoolSurroundings surroundingsOf(const nlohmann::json &cluster);

/// "https://container.googleapis.com/v1/projects/P/zones/L/clusters/C": zones, or locations for a region.
std::string clusterLink(const ClusterKey &key, const std::string &project);

/// A map {key: {"enabled"|"disabled": …}} merged as GKE does it: only what is named changes.
void mergeAddons(nlohmann::json &addons, const nlohmann::json &desired);

bool isAutopilot(const nlohmann::json &cluster);
bool isZone(const std::string &location); ///< "us-east5-b", not "us-east5"

} // namespace cluster::local
