#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/deadline.h"
#include "cluster/base/result.h"
#include "cluster/local/nodes/pool_spec.h"

#include <functional>
#include <memory>
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
    bool usesWorkloadIdentity = true; ///< label iam.gke.io/gke-metadata-server-enabled
};

/// Addresses of a node, as a plan of cluster/local/network gives them.
struct NodeAddresses
{
    std::string internalIp; ///< "10.128.0.5"
    std::string podCidr; ///< "10.4.3.0/24"
};

struct NodePoolsOptions
{
    NodesCluster cluster;
    /// Of the n-th node (from 0; numbers are used again after a node is gone).
    std::function<NodeAddresses(int number)> addresses;
    /// Told just before a node's object goes (its pods are being ended then) and right after it came; may
    /// be empty. On a thread of NodePools or of the caller.
    std::function<void(const std::string &node)> onNodeAdded;
    std::function<void(const std::string &node)> onNodeRemoved;
    /// How long a node needs from its object to Ready, and a lost one until it is recreated.
    std::chrono::milliseconds bootTime{0};
    std::chrono::milliseconds repairTime{20000};
    std::chrono::seconds drainTime{60}; ///< at most, when a pool is deleted or shrinks
    std::uint64_t seed = 0; ///< of name suffixes; the same seed gives the same names
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

    /// Returns when all nodes are Ready, or fails with none left behind. AlreadyExists; InvalidArgument
    /// (unknown machine type, nodeCount of a slice).
    Status createPool(const PoolSpec &pool, const CancelToken &cancel = {});
    /// FailedPrecondition for a slice that would be neither empty nor whole. Shrinking drains what goes.
    Status resizePool(const std::string &pool, int nodeCount, const CancelToken &cancel = {});
    /// New labels and taints of the user's on existing nodes.
    Status updatePool(const PoolSpec &pool);
    /// Cordons, drains by eviction for at most drainTime, deletes the nodes.
    Status deletePool(const std::string &pool, const CancelToken &cancel = {});

    [[nodiscard]] std::vector<PoolSpec> pools() const;
    [[nodiscard]] std::vector<std::string> nodes(const std::string &pool) const; ///< names

    /// The machine dies: no lease, no kubelet. The real node lifecycle controller turns it Unknown, then it
    /// is recreated after repairTime; of a slice, all its nodes.
    Status loseHost(const std::string &node);
    /// Host maintenance as GKE announces it, at `at` (seconds since 1970); runs for `duration` from then.
    Status announceMaintenance(const std::string &node, std::int64_t at, std::chrono::seconds duration);
    /// A Spot machine is taken away: graceful shutdown of `grace`, then the node is gone and a new one
    /// comes (of a slice, all).
    Status preempt(const std::string &node, std::chrono::seconds grace = std::chrono::seconds(30));

private:
    class Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
