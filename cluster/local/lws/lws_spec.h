#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace cluster::local {

constexpr std::int64_t mostReplicas = 1'000'000; ///< as the schema allows them

/// What the rules read of a LeaderWorkerSet, its defaults filled in.
struct LwsSpec
{
    std::string name, nameSpace, uid;
    std::int64_t generation = 0;
    std::int64_t replicas = 1; ///< groups
    std::int64_t size = 1; ///< pods of a group, the leader counted
    std::int64_t partition = 0; ///< groups below it are not updated
    std::int64_t maxUnavailable = 1; ///< in groups: a percentage of `replicas`, rounded down
    std::int64_t maxSurge = 0; ///< in groups: a percentage rounded up, at most `replicas`
    std::string restartPolicy, startupPolicy;
    bool hasOwnSubdomains = false; ///< networkConfig.subdomainPolicy UniquePerReplica

    [[nodiscard]] bool hasWorkers() const { return size > 1; }
};

/// `lws` as the API server has it. What is missing or of another type counts as not there.
[[nodiscard]] LwsSpec lwsSpec(const nlohmann::json &lws);

/// An "int or percentage" of `total`. Nothing: it is neither.
[[nodiscard]] std::optional<std::int64_t> scaledValue(const nlohmann::json &value, std::int64_t total,
                                                      bool roundsUp);

/// 5, "5" of a member; `otherwise` where there is no number.
[[nodiscard]] std::int64_t integerOf(const nlohmann::json &object, const char *key,
                                     std::int64_t otherwise = 0);

/// Of an object: metadata.labels[key], metadata.annotations[key], spec.leaderWorkerTemplate; empty or null.
[[nodiscard]] std::string labelOf(const nlohmann::json &object, const char *key);
[[nodiscard]] std::string annotationOf(const nlohmann::json &object, const char *key);
[[nodiscard]] const nlohmann::json &groupTemplateOf(const nlohmann::json &lws);

/// The owner reference with controller: true; null: nobody controls it.
[[nodiscard]] const nlohmann::json &controllerOf(const nlohmann::json &object);

/// "vllm-0-1" is 1 of "vllm-0". Ordinal -1: it is no name of a StatefulSet's pod.
struct PodOrdinal
{
    std::string parent;
    std::int64_t ordinal = -1;
};
[[nodiscard]] PodOrdinal podOrdinal(const std::string &podName);

} // namespace cluster::local
