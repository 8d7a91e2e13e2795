#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace cluster::local {

/// Appends the TPU variables to the containers of a placed pod that ask for google.com/tpu (with subgroups:
/// to the first of them). Nothing where the first has TPU_WORKER_HOSTNAMES or TPU_WORKER_ID already. \param
/// size  pods of the group
void addTpuVariables(nlohmann::json &pod, std::int64_t size);

} // namespace cluster::local
