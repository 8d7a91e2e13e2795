#pragma once

#include "cluster/kube/kube_client.h"
#include "cluster/local/tpuwebhook/pod_mutation.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// The pods of a group of a Ray cluster, with the one that was admitted last: it is stored only after its
/// admission was answered, and the next pod may come before that. For one thread.
class GroupPods
{
public:
    /// `client` must outlive it.
    explicit GroupPods(KubeClient &client) : m_client(client) {}

    /// Waits up to a second for the pod that was admitted last, then goes on without it (it was not made).
    [[nodiscard]] Result<std::vector<nlohmann::json>> of(const RayGroup &group);

    /// A pod was admitted with this patch; its place is to be seen by the next call of of().
    void admitted(const std::string &nameSpace, const nlohmann::json &pod, const nlohmann::json &patch);

    void stop() { m_stopping.request_stop(); } ///< from any thread: a wait or a call ends soon

private:
    [[nodiscard]] Result<std::vector<nlohmann::json>> list(const RayGroup &group);

    struct Place
    {
        std::string nameSpace;
        std::string cluster;
        std::string replicaIndex; ///< the label
        std::string workerId; ///< of the first variable TPU_WORKER_ID
        std::chrono::steady_clock::time_point since;
    };
    [[nodiscard]] static bool isAmong(const Place &place, const std::vector<nlohmann::json> &pods);

    KubeClient &m_client;
    CancelSource m_stopping;
    std::optional<Place> m_last;
};

} // namespace cluster::local
