#pragma once

#include "cluster/local/nodeagent/pod_access.h"
#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cluster::local {

using PageTime = std::chrono::system_clock::time_point;

/// RFC 3339 in whole seconds, UTC.
[[nodiscard]] std::string rfc3339(PageTime time);

/// `/stats/summary` (stats/v1alpha1 Summary) of a node.
[[nodiscard]] nlohmann::json statsSummary(const std::string &node, const std::vector<PodUsage> &pods,
                                          PageTime now);

/// `/metrics/resource`: what a metrics server scrapes, Prometheus text.
[[nodiscard]] std::string resourceMetrics(const std::vector<PodUsage> &pods, PageTime now);
/// `/metrics/cadvisor`: the same containers under cAdvisor's names.
[[nodiscard]] std::string cadvisorMetrics(const std::vector<PodUsage> &pods, PageTime now);

/// A v1 PodList of what PodAccess::pods says; only those in phase Running if asked.
[[nodiscard]] nlohmann::json podList(nlohmann::json pods, bool onlyRunning);

} // namespace cluster::local
