#pragma once

#include "cluster/base/result.h"

#include <nlohmann/json_fwd.hpp>

namespace cluster::local {

/// What the validating webhook says of a LeaderWorkerSet, in its words. `old` is the object that an update
/// replaces, null of a new one. InvalidArgument with all that is wrong: one reason as it is, several as
/// "[first, second]".
[[nodiscard]] Status checkLeaderWorkerSet(const nlohmann::json &lws, const nlohmann::json &old);

} // namespace cluster::local
