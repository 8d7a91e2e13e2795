#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/result.h"

#include <nlohmann/json_fwd.hpp>

namespace cluster {
class KubeClient;
} // namespace cluster

namespace cluster::local {

/// The definition of cloud.google.com/v1 ComputeClass, with GKE's checks.
nlohmann::json computeClassDefinition();

/// Idempotent. Does not wait until it is served.
Status installComputeClasses(KubeClient &client, const CancelToken &cancel);

} // namespace cluster::local
