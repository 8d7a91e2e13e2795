#pragma once

#include "cluster/local/clusters/local_cluster.h"
#include "cluster/local/network/address_plan.h"

namespace cluster::local {

class NodePools;

/// What runs around a control plane that answers: its clients. Made and destroyed on a thread that may block;
/// the parts that belong to the io_context are made and destroyed there.
class ClusterParts
{
public:
    ClusterParts(const LocalClusterSurroundings &surroundings, std::filesystem::path folder,
                 const ClusterSpec &spec, AddressPlan plan, ControlPlaneEndpoint endpoint);
    ~ClusterParts(); ///< stop()
    ClusterParts(const ClusterParts &) = delete;
    ClusterParts &operator=(const ClusterParts &) = delete;

    /// `onReachable`: all that a client can ask for answers; the nodes of the pools are being looked through.
    Status start(std::vector<PoolSpec> pools, const std::function<void()> &onReachable);
    /// `onNeeded` is called, from a thread of ours, as soon as there is an object of Ray's.
    void watchForRay(std::function<void()> onNeeded);
    void stop(); ///< Containers get a short grace; nodes and pods stay in the API.

    NodePools &nodePools();
    Status apply(const HostFault &fault);
    void setBucketDriver(bool isOn); ///< the add-on GcsFuseCsiDriver
    void setWorkloadPool(const std::string &pool); ///< for pods on pools with GKE_METADATA

    /// Pods that run or are to run, or a CronJob that will make some; also if nobody can say. Asks the API.
    [[nodiscard]] bool hasUserWork();
    [[nodiscard]] const ControlPlaneEndpoint &endpoint() const;
    [[nodiscard]] std::size_t nodeCount() const;
    [[nodiscard]] std::size_t readyNodes() const;
    [[nodiscard]] std::size_t podCount() const;

private:
    struct Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
