#pragma once

#include "cluster/base/result.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cluster::local {

/// What the pod webhook does to a pod of a LeaderWorkerSet: the labels of its place, exclusive placement, the
/// variables of its group and of its TPUs. An array of JSON patch operations (RFC 6902); empty for other
/// pods. `nameSpace` is the request's: pods often don't name theirs. InvalidArgument, in the webhook's words:
/// an annotation is missing or no number, the name is none of a StatefulSet's pod, the worker's group is not
/// told.
[[nodiscard]] Result<nlohmann::json> groupPodPatch(const nlohmann::json &pod, const std::string &nameSpace);

/// Hex SHA-1 of "SPACE/NAME": what makes a group's pods find each other.
[[nodiscard]] std::string groupKeyOf(const std::string &space, const std::string &name);

} // namespace cluster::local
