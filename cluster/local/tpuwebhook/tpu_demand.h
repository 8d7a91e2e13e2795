#pragma once

#include "cluster/base/result.h"

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cluster::local {

/// What a pod (or the template of a worker group) asks of a TPU slice.
struct TpuDemand
{
    long chipsPerHost = 0; ///< sum over the containers: the request, or the limit where there is none
    std::vector<std::size_t> containers; ///< those that ask for chips, as indices into spec.containers
    bool isV7x = false; ///< tpu7x: each container is a worker of its own

    [[nodiscard]] bool isEmpty() const { return containers.empty(); }
};

/// `podSpec` as on the wire; what is missing or of another type counts as not there.
[[nodiscard]] TpuDemand tpuDemand(const nlohmann::json &podSpec);

/// The nodeSelector cloud.google.com/gke-tpu-topology, "4x4"; empty: none.
[[nodiscard]] std::string tpuTopology(const nlohmann::json &podSpec);

/// Hosts of a slice: chips of the topology by chips per host, at least one.
/// InvalidArgument: the topology is not numbers with an x between them, or no chips.
[[nodiscard]] Result<long> hostsOfSlice(const std::string &topology, long chipsPerHost);

} // namespace cluster::local
