#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

/// The partition and the size of a leader StatefulSet.
struct RolloutStep
{
    std::int64_t partition = 0; ///< pods from this ordinal on are of the new revision
    std::int64_t replicas = 0;

    bool operator==(const RolloutStep &) const = default;
};

/// An owner reference to `owner`, which controls and is waited for.
[[nodiscard]] nlohmann::json ownedBy(const char *apiVersion, const char *kind, const nlohmann::json &owner);

/// What is applied as the StatefulSet of all groups' leaders.
[[nodiscard]] nlohmann::json leaderStatefulSet(const nlohmann::json &lws, const RolloutStep &step,
                                               const std::string &revisionKey);

/// The StatefulSet of one group's workers, owned by their leader pod. \param revision  The leader's.
/// \param topology  Exclusive placement: the leader's node's value of the topology key; else empty.
[[nodiscard]] nlohmann::json workerStatefulSet(const nlohmann::json &lws, const nlohmann::json &leader,
                                               const nlohmann::json &revision, const std::string &topology);

/// The headless Service of all pods, or, with a leader, of its group's alone.
[[nodiscard]] nlohmann::json sharedService(const nlohmann::json &lws);
[[nodiscard]] nlohmann::json groupService(const nlohmann::json &lws, const nlohmann::json &leader);

/// Some container or init container asks for google.com/tpu.
[[nodiscard]] bool requestsTpus(const nlohmann::json &podSpec);
[[nodiscard]] bool containerRequestsTpus(const nlohmann::json &container);

} // namespace cluster::local
