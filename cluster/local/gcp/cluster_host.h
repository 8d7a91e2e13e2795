#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/result.h"
#include "cluster/local/nodes/pool_spec.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cluster::local {

/// What a cluster has to be. Filled by the container API from the request, after its rules.
struct ClusterSpec
{
    std::string id; ///< 64 hexadecimal digits; never used twice, fit for a folder's name
    std::string project;
    std::string location; ///< zone or region
    std::string name;
    std::vector<std::string> zones; ///< of its nodes
    std::string version; ///< "1.34.1-gke.3849001"
    bool autopilot = false;
    bool rayOperator = false;
    bool gcsFuse = false;
    bool horizontalPodAutoscaling = true;
    bool httpLoadBalancing = true;
    bool dataplaneV2 = false;
    bool managedPrometheus = true;
    bool nodeAutoProvisioning = false;
    std::string workloadPool; ///< "P.svc.id.goog" or empty
    std::map<std::string, std::string> labels;
};

struct ClusterEndpoint
{
    std::string address; ///< "127.0.0.1:PORT" of the kube-apiserver
    std::string caPem;
};

struct PoolState
{
    std::string name;
    int nodeCount = 0; ///< Node objects there now, in all zones
    int readyCount = 0;
    std::string problem; ///< for a person; empty while all is well
};

/// A fault that the nodes suffer (host-lost, maintenance, preemption, disk-full).
struct HostFault
{
    enum class Kind { HostLost, Maintenance, Preemption, DiskFull } kind = Kind::HostLost;
    std::string pool; ///< empty: all pools it can strike
    std::string host; ///< node name; empty: one of the pool's, or all (maintenance, disk-full)
    bool active = true; ///< false: it was taken back, nodes recover
};

/// Words for `detail` of the operation, and 0 to 1 of the work done.
using StageHandler = std::function<void(std::string_view stage, double done)>;

/// Who makes clusters and nodes real. The container API knows only this. All calls block until done (on
/// operation threads), may be called for different clusters at once, never at once for the same one except
/// describe and endpoint, and end early with Cancelled when `cancel` asks.
class ClusterHost
{
public:
    virtual ~ClusterHost() = default;

    /// Returns when the control plane answers. Idempotent: a cluster of this id that is there already, whole
    /// or in part (a process was killed in between), is taken on.
    virtual Result<ClusterEndpoint> createCluster(const ClusterSpec &spec, const StageHandler &onStage,
                                                  const CancelToken &cancel)
        = 0;
    /// Add-ons, workload pool, labels, version, location of nodes. Same id.
    virtual Status updateCluster(const ClusterSpec &spec, const StageHandler &onStage,
                                 const CancelToken &cancel)
        = 0;
    /// With all its pools. No error if there is none.
    virtual Status deleteCluster(const std::string &clusterId, const StageHandler &onStage,
                                 const CancelToken &cancel)
        = 0;

    /// Returns when all nodes are Ready. Idempotent as createCluster. A pool of a slice is atomic.
    virtual Status createPool(const std::string &clusterId, const PoolSpec &pool, const StageHandler &onStage,
                              const CancelToken &cancel)
        = 0;
    /// To `pool` (count, labels, taints, autoscaling limits).
    virtual Status updatePool(const std::string &clusterId, const PoolSpec &pool, const StageHandler &onStage,
                              const CancelToken &cancel)
        = 0;
    virtual Status deletePool(const std::string &clusterId, const std::string &pool,
                              const StageHandler &onStage, const CancelToken &cancel)
        = 0;

    /// At once, from what is known; asked for each answer that shows a cluster. NotFound.
    virtual Result<ClusterEndpoint> endpoint(const std::string &clusterId) = 0;
    virtual Result<std::vector<PoolState>> pools(const std::string &clusterId) = 0;

    virtual Status apply(const std::string &clusterId, const HostFault &fault) = 0;
};

} // namespace cluster::local
