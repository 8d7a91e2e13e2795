#pragma once

#include "cluster/base/result.h"

#include <nlohmann/json_fwd.hpp>

namespace cluster::local {

/// What GKE's TPU webhook says of a RayCluster: whether each worker group that asks for chips has as many
/// hosts as its topology has. Neither the accelerator nor the chips of a machine are looked at.
/// PermissionDenied: it is refused, with the text that the user sees. InvalidArgument: it can't be judged (no
/// topology, no chips, no hosts); the webhook answers that with a bare 403, so the user sees a failed call.
[[nodiscard]] Status checkTpuGroups(const nlohmann::json &rayCluster);

} // namespace cluster::local
