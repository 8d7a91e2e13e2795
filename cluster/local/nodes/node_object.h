#pragma once

#include "cluster/local/nodes/node_pools.h"

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cluster::local {

/// Which machine of a pool.
struct NodeIdentity
{
    std::string name;
    std::string zone;
    NodeAddresses addresses;
};

/// Seconds since 1970.
using UnixTime = std::chrono::seconds;
UnixTime unixTimeNow();
/// "2026-11-30T20:00:00Z", as metav1.Time.
std::string timestamp(UnixTime time);
/// "2026-11-30T20:00:00.000000Z", as metav1.MicroTime.
std::string microTimestamp(UnixTime time);

/// The whole Node as a kubelet of GKE registers it: labels, annotations, taints, providerID, status.
/// \param isReady  false: it has just booted, its network is not up.
nlohmann::json nodeObject(const NodesCluster &cluster, const PoolSpec &pool, const MachineShape &machine,
                          const NodeIdentity &node, UnixTime now, bool isReady = true);

/// Labels that GKE and the user's pool give a node; the user's last, but never over GKE's own.
nlohmann::json nodeLabels(const NodesCluster &cluster, const PoolSpec &pool, const MachineShape &machine,
                          const NodeIdentity &node);
/// Taints likewise: accelerators', ComputeClass's, the user's.
nlohmann::json nodeTaints(const PoolSpec &pool);

/// Ready as kubelet words it: True, or False with `why`.
nlohmann::json readyCondition(bool isReady, const std::string &why, UnixTime now);
nlohmann::json diskCondition(bool isFull, UnixTime now);
/// All that a kubelet sets, of a node that is well.
nlohmann::json kubeletConditions(UnixTime now);

/// Label of the pool's name on every node of GKE.
inline constexpr const char *poolLabel = "cloud.google.com/gke-nodepool";

} // namespace cluster::local
