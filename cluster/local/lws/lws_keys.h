#pragma once

/// Labels and annotations of LeaderWorkerSet v0.10, as its controller writes and reads them.
namespace cluster::local::lws_keys {

// Labels.
inline constexpr const char *name = "leaderworkerset.sigs.k8s.io/name";
inline constexpr const char *groupIndex = "leaderworkerset.sigs.k8s.io/group-index";
inline constexpr const char *groupKey = "leaderworkerset.sigs.k8s.io/group-key";
inline constexpr const char *workerIndex = "leaderworkerset.sigs.k8s.io/worker-index";
inline constexpr const char *revision = "leaderworkerset.sigs.k8s.io/template-revision-hash";
inline constexpr const char *subGroupIndex = "leaderworkerset.sigs.k8s.io/subgroup-index";
inline constexpr const char *subGroupKey = "leaderworkerset.sigs.k8s.io/subgroup-key";

// Annotations.
inline constexpr const char *size = "leaderworkerset.sigs.k8s.io/size";
inline constexpr const char *replicas = "leaderworkerset.sigs.k8s.io/replicas";
inline constexpr const char *leaderName = "leaderworkerset.sigs.k8s.io/leader-name";
inline constexpr const char *exclusiveTopology = "leaderworkerset.sigs.k8s.io/exclusive-topology";
inline constexpr const char *subGroupSize = "leaderworkerset.sigs.k8s.io/subgroup-size";
inline constexpr const char *subGroupType = "leaderworkerset.sigs.k8s.io/subgroup-policy-type";
inline constexpr const char *subGroupTopology = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology";
inline constexpr const char *subdomainPolicy = "leaderworkerset.sigs.k8s.io/subdomainPolicy";
inline constexpr const char *leaderRequestsTpus = "leaderworkerset.sigs.k8s.io/leader-requests-tpus";
inline constexpr const char *recreateAfterStart
    = "leaderworkerset.sigs.k8s.io/experimental-recreate-group-after-start";

inline constexpr const char *apiVersion = "leaderworkerset.x-k8s.io/v1";
inline constexpr const char *kind = "LeaderWorkerSet";

} // namespace cluster::local::lws_keys
