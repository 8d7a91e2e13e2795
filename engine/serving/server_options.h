#pragma once

#include "engine/metrics/server_metrics.h"
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace engine {

/// What the HTTP side of `slipway-engine serve` is told. Names follow vLLM's flags.
struct ServerOptions
{
    std::string host; ///< --host; empty: all interfaces, as in vLLM.
    std::uint16_t port = 8000; ///< --port; 0: any free one (see HttpFrontend::port).
    ApiDialect dialect = ApiDialect::Newest; ///< --api-dialect.
    std::vector<std::string> servedModelNames; ///< --served-model-name; the first is the default. Not empty.
    std::string modelRoot; ///< `root` of a model card: the model as it was given on the command line.
    std::string version; ///< Program version; part of system_fingerprint ("slipway-<version>-<hex>").

    std::vector<std::string> apiKeys; ///< --api-key; empty: open.
    std::string rootPath; ///< --root-path, a prefix such as "/llm"; may be empty.
    std::vector<std::string>
        allowedOrigins; ///< --allowed-origins; empty: the dialect's default (0.8: all, newest: none).
    std::string allowedMethods = "*"; ///< --allowed-methods, comma separated.
    std::string allowedHeaders = "*"; ///< --allowed-headers, comma separated.
    bool allowCredentials = false; ///< --allow-credentials.

    std::string reasoningParser; ///< --reasoning-parser: "", "deepseek_r1", "qwen3" (any <think> model); see
                                 ///< knownReasoningParsers().
    bool enableAutoToolChoice = false; ///< --enable-auto-tool-choice.
    std::string toolCallParser; ///< --tool-call-parser: "", "hermes"; see knownToolCallParsers().
    std::string responseRole = "assistant"; ///< --response-role.
    bool trustRequestChatTemplate = false; ///< --trust-request-chat-template; the 0.8 dialect always trusts.

    int maxLogprobs = 20; ///< --max-logprobs; -1: no limit.
    int maxNumQueuedRequests = 0; ///< --max-num-queued-reqs: waiting and running together; 0: no limit.
    std::int64_t maxNumQueuedTokens
        = 0; ///< --max-num-queued-tokens: prompt tokens still to be prefilled; 0: no limit.
    bool requestIdHeaders = false; ///< --enable-request-id-headers.
    bool loadTracking = false; ///< --enable-server-load-tracking.
    bool promptTokensDetails = false; ///< --enable-prompt-tokens-details.
    bool forceIncludeUsage = false; ///< --enable-force-include-usage.
    bool returnTokensAsTokenIds = false; ///< --return-tokens-as-token-ids.
    bool prioritySchedulingInOldDialect
        = false; ///< --scheduling-policy priority; without it 0.8 refuses priority != 0.
    int maxNewTokens = 0; ///< Cap on max_tokens from the model's generation config; 0: none.

    std::size_t maxHeaderBytes = 64 * 1024;
    std::size_t maxBodyBytes = 32 * 1024 * 1024;
    std::size_t maxConnections = 1024;
    std::chrono::milliseconds headerTimeout{
        10'000}; ///< From the first byte of a request to the end of its header.
    std::chrono::milliseconds bodyTimeout{60'000}; ///< For the whole body.
    std::chrono::milliseconds keepAliveTimeout{5'000}; ///< Idle time between requests; vLLM: 5 s.
    std::chrono::milliseconds writeTimeout{60'000}; ///< For one write to a client that does not read.
    std::chrono::milliseconds shutdownTimeout{
        0}; ///< --shutdown-timeout: how long stop() lets requests finish.
    std::size_t maxStreamBacklogBytes
        = 4 * 1024 * 1024; ///< A stream whose client does not read is ended above this.
};

} // namespace engine
