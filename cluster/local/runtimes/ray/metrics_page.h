#pragma once

#include "cluster/local/runtimes/ray/node_table.h"
#include "cluster/local/runtimes/ray/proxy_counts.h"
#include "cluster/local/runtimes/ray/replica_host.h"
#include "cluster/local/runtimes/ray/serve_state.h"

#include <string>
#include <string_view>

namespace cluster::local {

/// What the metrics page of one node is made of.
struct MetricsInput
{
    std::string nodeId, rayVersion, session;
    bool isHead = false;
    const RayNodeFacts *facts = nullptr;
    RayNodeStats stats;
    RayResources used;
    const ProxyCounts *proxy = nullptr; ///< null: there is none here
    std::vector<ReplicaHost::Hosted> hosted;
    ServeTraffic traffic;
    const NodeTable *nodes = nullptr; ///< of the head
    const ServeState *serve = nullptr; ///< of the head
};

/// The page on port 8080 in Ray 2.60's names (contracts: observed-ray/10-llm-head-metrics.http): the node,
/// its proxy and replicas; on the head also what Serve's controller knows. What is not counted is not there.
std::string metricsPage(const MetricsInput &input);

/// An engine's own page as Ray shows it: "vllm:x" is ray_vllm_x, with the replica's id; other families are
/// left out. The page comes from outside.
std::string engineMetrics(std::string_view page, const std::string &replica);

} // namespace cluster::local
