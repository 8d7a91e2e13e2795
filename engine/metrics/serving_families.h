#pragma once

#include "engine/metrics/metric_families.h"
#include "engine/metrics/server_metrics.h"
#include <memory>
#include <string>
#include <vector>

namespace engine::exposition {

/// All families of the engine's page but process_*, in the order of the page. A null pointer: not in this
/// dialect.
struct ServingFamilies
{
    explicit ServingFamilies(const ServerMetricsOptions &options);

    Labels engineLabels; ///< engine and model_name, on almost every series.
    Labels modelLabels; ///< model_name only.

    std::vector<std::unique_ptr<Family>> inOrder;
    Gauge *running = nullptr;
    Gauge *waiting = nullptr;
    Gauge *waitingByReason = nullptr;
    Gauge *kvUse = nullptr;
    Counter *prefixQueries = nullptr; ///< Tokens, or blocks in 0.8.5.
    Counter *prefixHits = nullptr;
    Counter *preemptions = nullptr;
    Counter *promptTokens = nullptr;
    Counter *promptTokensBySource = nullptr;
    Counter *promptTokensCached = nullptr;
    Counter *promptTokensCachedBySource = nullptr;
    Counter *generationTokens = nullptr;
    Counter *finished = nullptr;
    Counter *rejections = nullptr;
    Histogram *requestPromptTokens = nullptr;
    Histogram *requestGenerationTokens = nullptr;
    Histogram *iterationTokens = nullptr;
    Histogram *requestLongestGeneration = nullptr;
    Histogram *requestN = nullptr;
    Histogram *requestMaxTokens = nullptr;
    Histogram *ttft = nullptr;
    Histogram *interToken = nullptr;
    Histogram *requestTimePerOutputToken = nullptr;
    Histogram *endToEnd = nullptr;
    Histogram *queueTime = nullptr;
    Histogram *inferenceTime = nullptr;
    Histogram *prefillTime = nullptr;
    Histogram *decodeTime = nullptr;
    Histogram *requestPreemptions = nullptr;
    Histogram *requestComputedTokens = nullptr;
    Counter *httpRequests = nullptr;
    Summary *httpRequestBytes = nullptr;
    Summary *httpResponseBytes = nullptr;
    Histogram *httpDurationFine = nullptr;
    Histogram *httpDuration = nullptr;
    Counter *toolCalls = nullptr;

    /// The engine labels and one more.
    [[nodiscard]] Labels engineLabelsAnd(const std::string &name, const std::string &value) const;

private:
    Gauge *gauge(const char *name, const char *help);
    Counter *counter(const char *name, const char *help);
    Counter *engineCounter(const char *name, const char *help); ///< With its one series at 0.
    Histogram *histogram(const char *name, const char *help, std::vector<double> bounds);

    void addLoad(const ServerMetricsOptions &options);
    void addTokens();
    void addTokensBySource();
    void addFinished();
    void addRequestSizes(int maxModelLen);
    void addLatencies();
    void addRequestCosts(int maxModelLen);
    void addCacheConfig(const ServerMetricsOptions &options);
    void addHttp();
    void addToolCalls();

    bool m_isNewest;
};

/// 1, 2, 5, 10, 20, … up to the largest <= limit.
[[nodiscard]] std::vector<double> roundBounds(int limit);

/// Tokens in a block of the KV cache, for what vLLM counts or tells in blocks. Our cache has no blocks.
inline constexpr int blockTokens = 16;

} // namespace engine::exposition
