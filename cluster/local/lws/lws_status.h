#pragma once

#include "cluster/local/lws/group_state.h"
#include "cluster/local/lws/lws_spec.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

/// The status after a pass over a LeaderWorkerSet.
struct LwsStatus
{
    nlohmann::json status;
    bool isChanged = false; ///< worth a write
    bool isUpdateDone = false; ///< all groups are ready and updated: old revisions may go
    std::string eventReason, eventWords; ///< of a change of the conditions; empty: none changed
};

/// \param leaderReplicas  status.replicas of the leader StatefulSet. \param now  "2026-11-30T14:52:38Z".
/// A leader whose workers' StatefulSet is not there (yet) is not counted.
[[nodiscard]] LwsStatus lwsStatus(const nlohmann::json &lws, const GroupObjects &objects,
                                  std::int64_t leaderReplicas, const std::string &revisionKey,
                                  const std::string &now);

} // namespace cluster::local
