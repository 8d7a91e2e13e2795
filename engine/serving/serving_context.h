#pragma once

#include "engine/metrics/server_metrics.h"
#include "engine/protocol/backend.h"
#include "engine/serving/admission.h"
#include "engine/serving/dialect.h"
#include "engine/serving/error_response.h"
#include "engine/serving/exchange.h"
#include "engine/serving/id_source.h"
#include "engine/serving/server_options.h"
#include <memory>
#include <optional>

namespace engine {

/// What all routes share. Lives as long as the last request that is being answered.
struct ServingContext
{
    ServingContext(const ServerOptions &serverOptions, Backend &engineBackend, ServerMetrics &serverMetrics);

    const ServerOptions options;
    const Dialect &dialect;
    Backend &backend;
    ServerMetrics &metrics;
    Admission admission;
    IdSource ids;
    RequestId nextRequest = 1;
    int load = 0; ///< For /load: requests in the generation routes.
    std::string fingerprint; ///< "slipway-<version>-<eight hex digits of the configuration>".
    bool draining = false; ///< The server is going down: no new work.

    [[nodiscard]] Seconds now() const; ///< Monotonic, the same clock as the runner's.
    [[nodiscard]] std::int64_t unixTime() const; ///< Seconds.

    /// The part of an answer's id after its prefix: X-Request-Id, or what the body names, or fresh digits.
    [[nodiscard]] std::string baseId(const HttpRequest &request, const std::string &fromBody = {});

    /// Why nothing can be generated now, or nothing.
    [[nodiscard]] std::optional<ApiError> unavailable() const;
};

using ContextPtr = std::shared_ptr<ServingContext>;

void respondJson(Exchange &exchange, std::string json);
void respondError(Exchange &exchange, const ServingContext &context, const ApiError &error);

} // namespace engine
