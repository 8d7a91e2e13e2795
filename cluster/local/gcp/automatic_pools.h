#pragma once

#include "cluster/local/gcp/container_parts.h"
#include "cluster/local/nodes/pool_scaler.h"

#include <functional>
#include <string>

namespace cluster::local {

/// What GKE itself does with the node pools of a cluster: the autoscaler's sizes, and the pools that
/// Autopilot and ComputeClasses make. Goes the way of the API, so that its operations are listed, quota and
/// stock are asked, and pools are shown as they are; only what is forbidden to users is allowed.
class AutomaticPools : public PoolScaler
{
public:
    /// `pools` are those that the host has now; `cancel` ends waiting for operations.
    AutomaticPools(ContainerParts parts, std::string clusterId, std::function<std::vector<PoolSpec>()> pools,
                   CancelToken cancel);

    [[nodiscard]] std::vector<PoolSpec> pools() const override { return m_pools(); }
    /// Errors: ResourceExhausted (quota, stock), Aborted while another operation changes the cluster,
    /// NotFound, Cancelled.
    Status resizePool(const std::string &pool, int nodeCount) override;
    Status createPool(const PoolSpec &pool) override;
    Status deletePool(const std::string &pool) override;

private:
    using Start = std::function<GoogleResult<nlohmann::json>(const Project &, const ClusterKey &)>;
    Status run(const Start &start);
    [[nodiscard]] Status waitFor(const ClusterKey &key, const std::string &operation) const;

    ContainerParts m_parts;
    std::string m_clusterId;
    std::function<std::vector<PoolSpec>()> m_pools;
    CancelToken m_cancel;
};

/// A pool as its request to the API would be.
nlohmann::json poolJsonOf(const PoolSpec &pool);

} // namespace cluster::local
