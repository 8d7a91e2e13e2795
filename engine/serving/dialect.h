#pragma once

#include "engine/metrics/server_metrics.h"
#include <string>
#include <string_view>

namespace engine {

/// What differs on the wire between the two vLLM generations, so that the routes need not ask for versions.
/// Source: recordings of 0.8.5 and 0.32.0 (tests/data/observed-vllm).
struct Dialect
{
    ApiDialect api = ApiDialect::Newest;
    bool nestedErrors = true; ///< {"error":{…}}; else the flat object with "object":"error".
    bool structuredParams = true; ///< Errors name their parameter, and end in "(parameter=…)".
    int idDigits = 16; ///< Hex digits of fresh ids.
    std::string_view reasoningKey = "reasoning";
    bool emptyStreamOptionsMeansUsage = false;
    bool clipsToContext = true; ///< max_tokens beyond the context's end is cut instead of refused.
    bool extraNullFields = true; ///< token_ids, service_tier and so on, null when not asked for.
    int topKOff = 0; ///< Shown in the complaint about top_k.
    std::string_view metricsContentType;
    std::string_view preflightMethods;

    [[nodiscard]] bool isOld() const { return api == ApiDialect::V085; }
};

[[nodiscard]] const Dialect &dialectOf(ApiDialect api);

} // namespace engine
