#pragma once

#include "cluster/local/lws/lws_spec.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cluster::local {

/// A LeaderWorkerSet's pods and StatefulSets as they are stored now.
struct GroupObjects
{
    std::vector<nlohmann::json> leaders; ///< pods with worker index 0
    std::vector<nlohmann::json> statefulSets; ///< of workers, and the leaders' too
};

/// Of one group, its leader and its workers together.
struct GroupState
{
    bool isReady = false;
    bool isUpdated = false; ///< both are of the revision asked for

    bool operator==(const GroupState &) const = default;
};

/// Of the groups 0 to `count` - 1; one that lacks its leader or its workers' StatefulSet is neither.
[[nodiscard]] std::vector<GroupState> groupStates(const LwsSpec &spec, const GroupObjects &objects,
                                                  std::int64_t count, const std::string &revisionKey);

/// Running, and its condition Ready is True.
[[nodiscard]] bool isRunningAndReady(const nlohmann::json &pod);
/// Its condition Ready is True.
[[nodiscard]] bool isReadyPod(const nlohmann::json &pod);
/// All its pods are available and of one revision.
[[nodiscard]] bool isReadyStatefulSet(const nlohmann::json &statefulSet);
/// By name; null: there is none.
[[nodiscard]] const nlohmann::json &namedObject(const std::vector<nlohmann::json> &objects,
                                                const std::string &name);

} // namespace cluster::local
