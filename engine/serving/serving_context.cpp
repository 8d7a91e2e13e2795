#include "engine/serving/serving_context.h"

#include <chrono>
#include <cstdio>

namespace engine {

namespace {

std::string configurationHash(const ServerOptions &options)
{
    std::uint32_t hash = 2166136261u; // FNV-1a
    const auto mix = [&hash](const std::string &text) {
        for (const char c : text + '\n')
            hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    };
    mix(options.modelRoot);
    for (const std::string &name : options.servedModelNames)
        mix(name);
    mix(options.reasoningParser + options.toolCallParser);
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", hash);
    return digits;
}

} // namespace

ServingContext::ServingContext(const ServerOptions &serverOptions, Backend &engineBackend,
                               ServerMetrics &serverMetrics)
    : options(serverOptions), dialect(dialectOf(serverOptions.dialect)), backend(engineBackend),
      metrics(serverMetrics), admission(serverOptions.maxNumQueuedRequests, serverOptions.maxNumQueuedTokens),
      fingerprint("slipway-" + serverOptions.version + "-" + configurationHash(serverOptions))
{
}

Seconds ServingContext::now() const
{
    return std::chrono::steady_clock::now().time_since_epoch();
}

std::int64_t ServingContext::unixTime() const
{
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::string ServingContext::baseId(const HttpRequest &request, const std::string &fromBody)
{
    const std::string_view given = request.header("x-request-id");
    if (!given.empty())
        return std::string(given);
    return fromBody.empty() ? ids.hex(dialect.idDigits) : fromBody;
}

std::optional<ApiError> ServingContext::unavailable() const
{
    if (draining)
        return engineUnavailable("The server is shutting down and takes no new requests.");
    if (backend.state() == BackendState::Ready)
        return std::nullopt;
    const std::string why = backend.stateMessage();
    const std::string what = backend.state() == BackendState::Restarting ? "The engine is being restarted"
                                                                         : "The engine is not ready";
    return engineUnavailable(what + (why.empty() ? "." : ": " + why));
}

void respondJson(Exchange &exchange, std::string json)
{
    exchange.respond({200, {{"content-type", "application/json"}}, std::move(json)});
}

void respondError(Exchange &exchange, const ServingContext &context, const ApiError &error)
{
    exchange.respond(errorResponse(context.dialect, error));
}

} // namespace engine
