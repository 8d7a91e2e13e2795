#pragma once

#include "cluster/local/nodes/node_object.h"

#include "cluster/base/cancellation.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cluster {
class KubeClient;
} // namespace cluster

namespace cluster::local {

/// One instance group as the autoscaler sees it: the nodes of a pool in one zone.
struct NodeGroupState
{
    std::string name; ///< URL of the group
    int target = 0, least = 0, most = 0; ///< nodes: wanted, minimum, maximum
    int ready = 0, notReady = 0; ///< nodes that are there
    int candidates = 0; ///< nodes that may go
    bool isGrowing = false;
    std::string backoffCode, backoffMessage; ///< after a failure, until it is tried again
};

/// What the autoscaler says about itself: the ConfigMap cluster-autoscaler-status in kube-system, in the form
/// that GKE has had since 1.30. One thread.
class AutoscalerStatus
{
public:
    /// The text for this moment. Times of transition are those at which a status was first seen here.
    std::string text(const std::vector<NodeGroupState> &groups, UnixTime now);
    /// Writes it where anything but the time has changed, and else every 10 seconds. A failure is made good
    /// by the next write.
    void write(KubeClient &client, const std::vector<NodeGroupState> &groups, UnixTime now,
               const CancelToken &cancel);
    [[nodiscard]] const std::string &uid() const { return m_uid; } ///< of the ConfigMap; empty: unknown

    static constexpr const char *space = "kube-system";
    static constexpr const char *name = "cluster-autoscaler-status";

private:
    nlohmann::json part(const std::string &key, const std::string &status, UnixTime now,
                        bool isActive = true);
    nlohmann::json group(const NodeGroupState &state, UnixTime now);

    struct Seen
    {
        std::string status;
        UnixTime since{0};
    };
    std::map<std::string, Seen> m_seen; ///< by group and aspect
    std::string m_written; ///< without the times of probes
    UnixTime m_writtenAt{0};
    std::string m_uid;
};

} // namespace cluster::local
