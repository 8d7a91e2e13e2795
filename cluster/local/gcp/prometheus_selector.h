#pragma once

#include "cluster/base/result.h"
#include "cluster/local/gcp/metric_source.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace cluster::local {

/// `vllm:num_requests_running{namespace="default"}[5m] offset 1m`: the part of PromQL that needs no PromQL.
struct PrometheusSelector
{
    std::vector<LabelMatcher> matchers;
    std::chrono::milliseconds range{0}; ///< 0: an instant vector
    std::chrono::milliseconds offset{0};
};

/// Errors: InvalidArgument for what is no PromQL; Unimplemented for PromQL that is more than a selector.
Result<PrometheusSelector> parseSelector(std::string_view text);

/// "90s", "1h30m", "0.5" (seconds). Errors: InvalidArgument.
Result<std::chrono::milliseconds> parsePrometheusDuration(std::string_view text);

} // namespace cluster::local
