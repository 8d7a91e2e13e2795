#pragma once

#include "engine/protocol/messages.h"
#include <memory>
#include <string>

namespace engine {

/// Which vLLM the server imitates on the wire.
enum class ApiDialect { V085, Newest };

struct ServerMetricsOptions
{
    std::string modelName; ///< First served name: the label model_name.
    ApiDialect dialect = ApiDialect::Newest;
    int maxModelLen = 0; ///< Bounds the buckets of the token histograms.
    std::int64_t kvCacheTokens = 0;
    bool prefixCaching = true;
};

/// A choice of a request that ended, for the histograms of whole requests. Moments on the monotonic clock.
struct FinishedRequest
{
    FinishReason reason = FinishReason::Stop;
    bool countReason = true; ///< False for a client that left: vLLM counts those under no reason.
    int promptTokens = 0;
    int cachedPromptTokens = 0;
    int generationTokens = 0;
    int maxTokens = 0;
    int n = 1;
    bool endsRequest
        = true; ///< The last choice of its request: n and the longest choice count once a request.
    int longestGeneration = 0; ///< Tokens, of all choices of the request; 0: generationTokens.
    int preemptions = 0; ///< How often this choice was preempted.
    Seconds arrival{};
    RequestTimes times;
};

/// One request on the HTTP level (vLLM's http_* families).
struct HttpObservation
{
    std::string method;
    std::string handler; ///< Route pattern, or "none" for an unmatched path.
    int status = 200;
    Seconds duration{};
    std::size_t requestBytes = 0;
    std::size_t responseBytes = 0;
};

/// The /metrics page of the server in Prometheus text format 0.0.4, with vLLM's names, types, labels and
/// buckets. Threads: one thread only (the front's). Source:  contracts of vLLM 0.8.5 (engine V1 names) and
/// 0.32.0, recorded pages in tests/data.
class ServerMetrics
{
public:
    explicit ServerMetrics(ServerMetricsOptions options);
    ~ServerMetrics();
    ServerMetrics(const ServerMetrics &) = delete;
    ServerMetrics &operator=(const ServerMetrics &) = delete;

    void firstToken(Seconds timeToFirstToken, int promptTokens, int cachedPromptTokens);
    void laterTokens(Seconds sinceLastToken, int tokenCount); ///< Observes the gap once for each token.
    void generatedTokens(int count);
    void finished(const FinishedRequest &request);
    void
    runnerStats(const RunnerStats &stats); ///< Counters may restart at 0 when the runner did; totals go on.
    void rejected(const std::string &reason); ///< max_num_queued_reqs or max_num_queued_tokens.
    void toolCallParsed(const std::string &mode, const std::string &outcome, const std::string &requestType);
    void http(const HttpObservation &observation);

    [[nodiscard]] std::string render() const;

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace engine
