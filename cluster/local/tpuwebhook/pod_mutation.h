#pragma once

#include "cluster/base/result.h"
#include "cluster/local/tpuwebhook/slice_place.h"

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cluster::local {

/// Which pods a group has already, for those whose labels don't say their place.
struct RayGroup
{
    std::string nameSpace;
    std::string cluster; ///< label ray.io/cluster
    std::string group; ///< label ray.io/group
};

/// The pods of a group as they are stored.
using PodsOfGroup = std::function<Result<std::vector<nlohmann::json>>(const RayGroup &)>;

/// What GKE's TPU webhook does to a pod that KubeRay creates: hostname, subdomain and affinity in a slice of
/// several hosts, and the TPU variables of its containers. An array of JSON patch operations (RFC 6902);
/// empty for pods that ask for no chips. `nameSpace` is the request's: pods often don't name theirs.
/// Errors, in the webhook's own words: InvalidArgument (a label or the topology is missing or wrong),
/// FailedPrecondition (the group's other pods contradict each other), those of `podsOf`.
[[nodiscard]] Result<nlohmann::json> tpuPodPatch(const nlohmann::json &pod, const std::string &nameSpace,
                                                 const PodsOfGroup &podsOf);

/// The headless Service of a Ray cluster as the webhook names it: the last 50 characters of
/// "CLUSTER-headless", with a leading digit or punctuation replaced by r. KubeRay itself does not shorten:
/// cluster names of more than 41 characters get pods whose names don't resolve, on GKE as here.
[[nodiscard]] std::string headlessServiceName(const std::string &cluster);

} // namespace cluster::local
