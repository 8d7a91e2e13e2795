#pragma once

#include "cluster/local/tpuwebhook/slice_place.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cluster::local {

/// What the variables of a TPU worker are made of.
struct WorkerPlace
{
    SlicePlace place;
    std::string group; ///< "tpu-group"
    std::string headless; ///< the Service that makes the hosts' names resolve
    long hosts = 1; ///< of the slice
    long containers = 1; ///< of the pod, that ask for chips
    bool isV7x = false;
};

/// The variables that are appended to a container, in the webhook's order: EnvVar objects. What the user has
/// set stays, with these rules of the webhook: a variable with a text that is not empty is set; one with
/// valueFrom only is set for MEGASCALE_NUM_SLICES and TPU_DEVICE_PLUGIN_HOST_IP.
/// \param number  of the container among those that ask for chips
[[nodiscard]] std::vector<nlohmann::json> workerVariables(const nlohmann::json &container, long number,
                                                          const WorkerPlace &worker);

} // namespace cluster::local
