#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace cluster::local {

/// Length of the prefix of a node's own range of pod addresses: room for twice as many as it may have pods,
/// /24 for 110, /27 for 15, at most /28.
int podRangeLength(int maxPodsPerNode);

/// A range of a cluster that its nodes don't fit into.
struct ExhaustedRange
{
    std::string
        name; ///< "projects/P/regions/R/subnetworks/default", with the name of the secondary range for pods
    std::string range; ///< "10.16.0.0/20"
    bool isPods = false;
};

/// Whether all node pools of a cluster, each with the nodes that were last asked for, fit its ranges of pod
/// and node addresses. \param cluster  the API's Cluster, with its pools
std::optional<ExhaustedRange> exhaustedRange(const nlohmann::json &cluster, const std::string &project);

/// "IP space of '…' is exhausted. …", as Compute Engine says it.
std::string wordsOf(const ExhaustedRange &range);

} // namespace cluster::local
