#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/deadline.h"
#include "cluster/base/result.h"
#include "cluster/local/nodes/pool_spec.h"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster {
class KubeClient;
} // namespace cluster

namespace cluster::local {

/// What is done to Node objects and the pods on them, as plain calls. Blocks; threads may share it.
class NodeWriter
{
public:
    explicit NodeWriter(KubeClient &client) : m_client(client) {}

    /// Returns the Node's uid. One of the same name that is there already (an earlier try's) is taken over.
    Result<std::string> create(const nlohmann::json &node, const CancelToken &cancel);
    /// With its lease; no error if it is gone.
    Status remove(const std::string &node, const CancelToken &cancel);

    /// Replaces conditions of the status by their type.
    Status setCondition(const std::string &node, const nlohmann::json &condition, const CancelToken &cancel);
    /// Nothing as value removes the label.
    Status setLabels(const std::string &node, const std::map<std::string, std::optional<std::string>> &labels,
                     const CancelToken &cancel);
    Status changeTaints(const std::string &node, const std::vector<NodeTaint> &added,
                        const std::vector<NodeTaint> &removed, const CancelToken &cancel);
    Status cordon(const std::string &node, const CancelToken &cancel);

    /// Status of the Ready condition: "True", "False", "Unknown"; empty where there is no such node.
    Result<std::string> readiness(const std::string &node, const CancelToken &cancel);
    /// Waits until the control plane has seen that the node is Ready (its not-ready taint is gone). False at
    /// the deadline.
    bool awaitSchedulable(const std::string &node, Deadline deadline, const CancelToken &cancel);

    /// Evicts the pods of a node, except those of DaemonSets; waits for them to end. Whatever is still there
    /// at the deadline stays.
    void drain(const std::string &node, Deadline deadline, const CancelToken &cancel);
    /// True when nothing on the node would be lost any more: no pod that is not ended, those of DaemonSets
    /// aside.
    Result<bool> isEmpty(const std::string &node, const CancelToken &cancel);
    Result<std::vector<nlohmann::json>> podsOf(const std::string &node, const CancelToken &cancel);
    /// By the eviction API. ResourceExhausted: a disruption budget says no for now.
    Status evict(const nlohmann::json &pod, const CancelToken &cancel);
    [[nodiscard]] bool hasTaint(const std::string &node, const std::string &key, const CancelToken &cancel);
    /// Empty where there is no such label or node.
    [[nodiscard]] std::string labelOf(const std::string &node, const std::string &key,
                                      const CancelToken &cancel);
    /// The node is no more: its pods fail and are deleted at once, as the pod garbage collector does it.
    void dropPods(const std::string &node, const CancelToken &cancel);

private:
    KubeClient &m_client;
};

} // namespace cluster::local
