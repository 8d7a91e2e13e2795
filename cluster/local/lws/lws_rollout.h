#pragma once

#include "cluster/local/lws/group_state.h"
#include "cluster/local/lws/lws_objects.h"
#include "cluster/local/lws/lws_spec.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// The leader StatefulSet as it is.
struct LeaderSet
{
    RolloutStep step;
    std::int64_t wantedBefore = 0; ///< groups that were asked for when it was written last
};

/// Null object: nothing.
[[nodiscard]] std::optional<LeaderSet> leaderSet(const nlohmann::json &statefulSet);

/// What the leader StatefulSet is to be next. Groups are updated from the last to the first, at most
/// maxUnavailable + maxSurge at once, each step only when those before are ready; the partition only falls.
/// \param isNewRevision  The templates were changed just now.
/// \param states  Of as many groups as the StatefulSet has pods asked for.
[[nodiscard]] RolloutStep nextStep(const LwsSpec &spec, const std::optional<LeaderSet> &current,
                                   bool isNewRevision, const std::vector<GroupState> &states);

/// The event about groups that a step takes away: "deleting surge replica g-1"; empty: it takes none. Steps
/// to fewer groups say so on every way, not only after a surge.
[[nodiscard]] std::string surgeWords(const LwsSpec &spec, const LeaderSet &current, const RolloutStep &next);

/// The event about a partition that fell: "Updating replica 2".
[[nodiscard]] std::string partitionWords(std::int64_t before, std::int64_t now);

} // namespace cluster::local
