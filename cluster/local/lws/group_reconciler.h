#pragma once

#include "cluster/local/lws/lws_reconciler.h"

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

private:
    /// True: the group's leader goes, or has been told to: nothing is to be made for it.
    [[nodiscard]] Result<bool> restartGroup(const nlohmann::json &lws, const nlohmann::json &pod);
    [[nodiscard]] Result<LookAgain> makeWorkers(const nlohmann::json &lws, const nlohmann::json &leader);
    [[nodiscard]] Result<std::string> topologyOf(const nlohmann::json &lws, const nlohmann::json &leader);
    [[nodiscard]] Status createWorkers(const nlohmann::json &lws, const nlohmann::json &leader,
                                       const nlohmann::json &workers);

    LwsAccess m_access;
    LwsEvents &m_events;
};

} // namespace cluster::local
