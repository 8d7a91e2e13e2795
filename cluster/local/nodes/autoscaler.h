#pragma once

#include "cluster/base/result.h"
#include "cluster/local/nodes/auto_pools.h"
#include "cluster/local/nodes/pool_scaler.h"

#include <chrono>
#include <memory>

namespace cluster {
class KubeClient;
} // namespace cluster

namespace cluster::local {

struct AutoscalerOptions
{
    NodesCluster cluster;
    std::function<std::optional<MachineShape>(const std::string &machineType)> machine;
    bool createsPools
        = false; ///< Autopilot, or node auto-provisioning; a ComputeClass may allow it by itself
    bool isAutopilot = false;
    std::vector<MachineOffer> offers; ///< for pools to be created
    std::chrono::milliseconds scanInterval{10000};
    std::chrono::milliseconds unneededTime{600000}; ///< not needed for so long, a node goes
    /// How long a disruption budget may keep a pod on a node that is to go; how long its pods may take to
    /// end.
    std::chrono::milliseconds evictionTime{120000}, terminationTime{600000};
    /// How long the scheduler may take to use new nodes before their pods call for more.
    std::chrono::milliseconds settleTime{20000};
    std::chrono::milliseconds failureBackoff{300000}; ///< until what could not be had is tried again
    std::function<void(const std::string &text)> log; ///< why nodes stay; may be empty. On any thread
};

/// The role of the cluster autoscaler: pods for which the scheduler finds no node make nodes of fitting pools
/// appear, slices as a whole, from zero too; what is not needed goes. Says so in the cluster autoscaler's
/// events and its status ConfigMap, and in the status of ComputeClasses.
///
/// A node goes when nothing runs on it, or when less than half of it is requested and all its pods may be
/// moved and find room elsewhere: they are evicted, so that disruption budgets hold. A slice goes only when
/// none of its hosts has work. Pools that are not autoscaled are left alone. A ComputeClass's rules are tried
/// in order; with activeMigration pods move back to nodes of an earlier rule when those can be had again.
class Autoscaler
{
public:
    /// Starts at once, on a thread of its own. Both must outlive it.
    Autoscaler(KubeClient &client, PoolScaler &scaler, AutoscalerOptions options);
    ~Autoscaler(); ///< stops; waits for changes of pools that are on their way
    Autoscaler(const Autoscaler &) = delete;
    Autoscaler &operator=(const Autoscaler &) = delete;

    /// Scans now, not at the next interval.
    void wake();

private:
    class Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
