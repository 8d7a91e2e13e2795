#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/deadline.h"
#include "cluster/base/result.h"
#include "cluster/local/nodes/pool_spec.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cluster {
class KubeClient;
} // namespace cluster

namespace cluster::local {

/// Whose nodes these are: parts of names, provider IDs and labels.
struct NodesCluster
{
    std::string project;
    std::string name;
    std::string region; ///< "europe-west4"
    std::string version; ///< of nodes whose pool names none: "1.34.1-gke.3084001"
    int kubeletPort = 10250; ///< of every node, on its own address
};

/// Addresses of a node, as a plan of cluster/local/network gives them.
struct NodeAddresses
{
    std::string internalIp; ///< "10.128.0.5"
    std::string podCidr; ///< "10.4.3.0/24"; empty: pods have a range for the whole cluster
};

/// A machine type's size, from the catalogue of machines.
struct MachineShape
{
    int vcpu = 0;
    double memoryGb = 0; ///< as Google prints it; in truth GiB
};

/// What happens to the machines, for who plays their kubelets. Called on threads of NodePools or of the
/// caller; each may be empty. None of them may call NodePools.
struct NodeListeners
{
    /// Its Node object is there (again, after a repair): its kubelet answers.
    std::function<void(const std::string &node)> onAdded;
    /// The machine is gone, suddenly (lost) or in order (drained): processes end, nothing is reported of its
    /// pods. Its Node object may stay for a while.
    std::function<void(const std::string &node)> onGone;
    /// Graceful node shutdown has begun: its pods end within `grace`, Failed with reason Terminated.
    std::function<void(const std::string &node, std::chrono::seconds grace)> onShutdown;
};

struct NodePoolsOptions
{
    NodesCluster cluster;
    /// Of the n-th node (from 0; numbers are used again after a node is gone).
    std::function<NodeAddresses(int number)> addresses;
    /// Nothing: no such machine type.
    std::function<std::optional<MachineShape>(const std::string &machineType)> machine;
    NodeListeners listeners;
    /// How long a node needs from its object to Ready; how long a lost one, seen as NotReady by the control
    /// plane, until it is recreated.
    std::chrono::milliseconds bootTime{0};
    std::chrono::milliseconds repairTime{20000};
    std::chrono::milliseconds drainTime{60000}; ///< at most, when a pool is deleted or shrinks
};

/// The node pools of one cluster as Node objects in its API server, kept alive: leases and heartbeats as a
/// kubelet's, faults on order. A multi-host slice comes, goes and is repaired as a whole.
///
/// All calls may block (they wait for the API server) and may be made from any thread; calls for one pool
/// wait for each other. Nothing is stored here: the pools are told at start(), Nodes are read from the
/// server, and what differs is made right.
class NodePools
{
public:
    /// `client` must outlive this.
    NodePools(KubeClient &client, NodePoolsOptions options);
    ~NodePools(); ///< stop()
    NodePools(const NodePools &) = delete;
    NodePools &operator=(const NodePools &) = delete;

    /// Makes the server's Nodes those of `pools`: missing ones are created, strays that carry our label are
    /// deleted. Then keeps them alive.
    Status start(std::vector<PoolSpec> pools);
    /// Ends all threads; the Nodes stay as they are (and turn NotReady by themselves after a while).
    void stop();

    /// Returns when all nodes are Ready, or fails with none left behind. A pool of that name that is there
    /// already becomes what `pool` says, as by updatePool(). InvalidArgument: unknown machine type, no zone,
    /// a slice that is neither empty nor whole.
    Status createPool(const PoolSpec &pool, const CancelToken &cancel = {});
    /// Count, labels, taints of the user's, autoscaling limits. Shrinking drains what goes.
    /// FailedPrecondition where it would change what a pool can't (machine type, topology, a slice's size
    /// other than to none or all). NotFound.
    Status updatePool(const PoolSpec &pool, const CancelToken &cancel = {});
    /// updatePool() with only the count changed.
    Status resizePool(const std::string &pool, int nodeCount, const CancelToken &cancel = {});
    /// Cordons, drains by eviction for at most drainTime, deletes the nodes. No error if there is none.
    Status deletePool(const std::string &pool, const CancelToken &cancel = {});

    [[nodiscard]] std::vector<PoolSpec> pools() const;
    [[nodiscard]] std::vector<std::string> nodes(const std::string &pool) const; ///< names

    /// The machine dies: no lease, no kubelet. The real node lifecycle controller turns it Unknown, then it
    /// is recreated after repairTime; of a slice, all its nodes. Returns at once. NotFound.
    Status loseHost(const std::string &node);
    /// Host maintenance as GKE announces it, from `startsIn` on, for `duration`: labels and taints, then the
    /// machine shuts down gracefully and comes back. Returns at once.
    Status announceMaintenance(const std::string &node, std::chrono::seconds startsIn,
                               std::chrono::seconds duration);
    /// A Spot machine is taken away: graceful shutdown of `grace`, then the node is gone and a new one
    /// comes (of a slice, all). Returns at once.
    Status preempt(const std::string &node, std::chrono::seconds grace = std::chrono::seconds(30));
    /// The boot disk is full (or no longer): condition DiskPressure, as kubelet sets it.
    Status setDiskPressure(const std::string &node, bool isFull);

private:
    class Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
