#pragma once

#include "cluster/local/nodes/pod_needs.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

/// What the cluster autoscaler asks before it takes a node away: how much of it is used, whether its pods may
/// be moved, and where they would go.
namespace cluster::local {

/// A pod that has a node.
struct ResidentPod
{
    PodNeeds needs;
    std::string node;
    std::map<std::string, std::string> labels;
    bool isPinned = false; ///< of a DaemonSet, or a mirror of a node's own file: goes with its node
    bool hasEnded = false; ///< Succeeded, Failed
    bool hasController = false;
    bool staysInZone = false; ///< has a volume that is bound to a claim
    std::string safeToEvict; ///< annotation cluster-autoscaler.kubernetes.io/safe-to-evict

    /// True where nothing would be lost with the node.
    [[nodiscard]] bool isNobody() const { return isPinned || hasEnded; }
};

ResidentPod residentPod(const nlohmann::json &pod);
/// Drops from a Pod what residentPod() does not read, for pods that are kept in memory.
void pruneResidentPod(nlohmann::json &pod);

/// A node that is there.
struct ResidentNode
{
    std::string name, uid, pool;
    NodeTemplate shape; ///< its labels, taints and allocatable resources
    bool isReady = false;
    bool isCordoned = false;
    bool mayNotGo = false; ///< annotation cluster-autoscaler.kubernetes.io/scale-down-disabled

    [[nodiscard]] bool hasTaint(const std::string &key) const;
    [[nodiscard]] std::string label(const std::string &key) const;
};

ResidentNode residentNode(const nlohmann::json &node);
void pruneResidentNode(nlohmann::json &node);

/// A PodDisruptionBudget.
struct DisruptionBudget
{
    std::string space;
    std::vector<NodeRequirement> selector; ///< all of them; empty: every pod
    bool isForNone = false; ///< without a selector
    int allowed = 0; ///< status.disruptionsAllowed
};

DisruptionBudget disruptionBudget(const nlohmann::json &budget);

/// Why the node with these pods can't be emptied, as the message id that GKE logs ("no.scale.down.node.pod.
/// not.backed.by.controller"); empty: it can. Local storage is no obstacle: not on GKE since 1.22.
std::string drainObstacle(const std::vector<const ResidentPod *> &pods,
                          const std::vector<DisruptionBudget> &budgets);

/// The larger of the requested parts of CPU and memory, 0 to 1 and above; of a node with accelerators, the
/// part of those alone.
double utilization(const ResidentNode &node, const std::vector<const ResidentPod *> &pods);

/// What is left of the nodes that may take pods.
class SpareRoom
{
public:
    /// Both must outlive it.
    SpareRoom(const std::vector<ResidentNode> &nodes, const std::vector<ResidentPod> &pods);

    /// No pods are placed here any more.
    void close(const std::string &node);
    /// Finds a place for each pod on other nodes that `may` take them, and takes it. False where one finds
    /// none: then none is placed.
    bool rehouse(const ResidentNode &from, const std::vector<const ResidentPod *> &pods,
                 const std::function<bool(const ResidentNode &)> &may = {});

private:
    struct Place
    {
        const ResidentNode *node = nullptr;
        NodeRoom room;
    };
    std::vector<Place> m_places;
};

} // namespace cluster::local
