#pragma once

#include "cluster/base/result.h"
#include "cluster/local/nodes/pool_spec.h"

#include <string>
#include <vector>

namespace cluster::local {

/// How the autoscaler changes pools, so that Google's side knows their sizes and refuses what quota and stock
/// do not allow (ResourceExhausted). Calls may block until the nodes are Ready.
class PoolScaler
{
public:
    virtual ~PoolScaler() = default;

    [[nodiscard]] virtual std::vector<PoolSpec> pools() const = 0;
    virtual Status resizePool(const std::string &pool, int nodeCount) = 0;
    virtual Status createPool(const PoolSpec &pool) = 0; ///< auto-created: Autopilot, ComputeClass
    virtual Status deletePool(const std::string &pool) = 0;
};

} // namespace cluster::local
