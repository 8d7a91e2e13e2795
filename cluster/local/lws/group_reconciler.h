#pragma once

#include "cluster/local/lws/lws_reconciler.h"

#include <map>
#include <mutex>

namespace cluster::local {

/// One pass over a pod of a group: the restart policy for all pods, the workers' StatefulSet (and the group's
/// own Service) for leaders. Blocking.
class GroupReconciler
{
public:
    /// `events` must outlive it.
    GroupReconciler(LwsAccess access, LwsEvents &events) : m_access(std::move(access)), m_events(events) {}

    /// \param key  of the pod. Errors are worth another try: those of the API server; FailedPrecondition: the
    /// leader's node lacks the label of the exclusive topology.
    [[nodiscard]] Result<LookAgain> reconcile(const KeyQueue::Key &key);

    /// A worker that isLost(), as a watch told it: it may be gone, or another one of its name there, before
    /// the next pass can read it (a failed pod is deleted without a grace period). From any thread.
    void remember(const nlohmann::json &lostPod);

private:
    [[nodiscard]] nlohmann::json takeLost(const KeyQueue::Key &key);
    /// For one that is gone.
    [[nodiscard]] Status restartGroupOf(const nlohmann::json &lostPod);
    /// True: the group's leader goes, or has been told to: nothing is to be made for it.
    [[nodiscard]] Result<bool> restartGroup(const nlohmann::json &lws, const nlohmann::json &pod);
    [[nodiscard]] Result<LookAgain> makeWorkers(const nlohmann::json &lws, const nlohmann::json &leader);
    [[nodiscard]] Result<std::string> topologyOf(const nlohmann::json &lws, const nlohmann::json &leader);
    [[nodiscard]] Status createWorkers(const nlohmann::json &lws, const nlohmann::json &leader,
                                       const nlohmann::json &workers);

    LwsAccess m_access;
    LwsEvents &m_events;
    std::mutex m_mutex; ///< guards m_lost
    std::map<KeyQueue::Key, nlohmann::json> m_lost;
};

} // namespace cluster::local
