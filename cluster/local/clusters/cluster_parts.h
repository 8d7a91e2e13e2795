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

    Status start(std::vector<PoolSpec> pools);
    void stop(); ///< Containers get a short grace; nodes and pods stay in the API.

    NodePools &nodePools();
    Status apply(const HostFault &fault);

    [[nodiscard]] std::size_t nodeCount() const;
    [[nodiscard]] std::size_t readyNodes() const;
    [[nodiscard]] std::size_t podCount() const;

private:
    struct Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
