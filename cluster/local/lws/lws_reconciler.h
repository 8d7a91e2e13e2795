#pragma once

#include "cluster/local/lws/key_queue.h"
#include "cluster/local/lws/lws_access.h"
#include "cluster/local/lws/lws_events.h"
#include "cluster/local/lws/lws_objects.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace cluster::local {

/// When to look at an object again without anything having happened; nothing: never.
using LookAgain = std::optional<std::chrono::milliseconds>;

/// One pass over a LeaderWorkerSet: its revision, its leaders' StatefulSet, its Service, its status. Reads
/// the API server itself and no cache, so that no pass judges by what the pass before has changed. Blocking.
class LwsReconciler
{
public:
    /// `events` must outlive it.
    LwsReconciler(LwsAccess access, LwsEvents &events) : m_access(std::move(access)), m_events(events) {}

    /// Errors are those of the API server: worth another try.
    [[nodiscard]] Result<LookAgain> reconcile(const KeyQueue::Key &key);

private:
    /// The revision that the set asks for, and whether it was made just now for a set that was there before.
    struct Revision
    {
        nlohmann::json object;
        bool isNew = false;
    };
    [[nodiscard]] Result<Revision> revisionFor(const nlohmann::json &lws, const nlohmann::json &leaders);
    [[nodiscard]] Result<nlohmann::json>
    makeRevision(const nlohmann::json &lws, const nlohmann::json &revision, const std::string &words);
    /// The leader StatefulSet as it is afterwards.
    [[nodiscard]] Result<nlohmann::json> applyLeaders(const nlohmann::json &lws,
                                                      const nlohmann::json &leaders, const Revision &revision,
                                                      const GroupObjects &groups);
    [[nodiscard]] Status makeSharedService(const nlohmann::json &lws);
    [[nodiscard]] Result<LookAgain> writeStatus(const nlohmann::json &lws, const nlohmann::json &leaders,
                                                const std::string &revisionKey, const GroupObjects &groups);
    [[nodiscard]] Status dropOldRevisions(const nlohmann::json &lws, const std::string &revisionKey);

    LwsAccess m_access;
    LwsEvents &m_events;
};

} // namespace cluster::local
