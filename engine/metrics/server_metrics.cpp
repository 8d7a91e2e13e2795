#include "engine/metrics/server_metrics.h"

#include "engine/metrics/process_metrics.h"
#include "engine/metrics/serving_families.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace engine {

using exposition::Labels;

namespace {

/// Routes that vLLM leaves out of its http_* families: probes would drown the rest.
constexpr std::array uncountedRoutes = {"/metrics", "/health", "/load", "/ping", "/version", "/server_info"};

/// A label value must not be whatever a stranger sends: each one is a series for ever.
std::string boundedMethod(const std::string &method)
{
    constexpr std::array known
        = {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"};
    return std::find(known.begin(), known.end(), method) == known.end() ? "other" : method;
}

const char *reasonText(FinishReason reason)
{
    switch (reason) {
    case FinishReason::Stop:
        return "stop";
    case FinishReason::Length:
        return "length";
    case FinishReason::Abort:
        return "abort";
    }
    return "abort";
}

/// A span between two moments; 0 if one of them never came.
double span(Seconds from, Seconds to)
{
    return from.count() > 0 && to > from ? (to - from).count() : 0;
}

/// Running totals from counters of a runner that may be started again.
class RunnerTotals
{
public:
    struct Growth
    {
        double prefixQueries = 0;
        double prefixHits = 0;
        double preemptions = 0;
    };

    Growth take(const RunnerStats &now)
    {
        // One that fell tells of a restart, and then all of them began again.
        const bool isRestarted = now.prefixQueries < m_last.prefixQueries
            || now.prefixHits < m_last.prefixHits || now.preemptions < m_last.preemptions;
        if (isRestarted)
            m_last = RunnerStats();
        const Growth growth{static_cast<double>(now.prefixQueries - m_last.prefixQueries),
                            static_cast<double>(now.prefixHits - m_last.prefixHits),
                            static_cast<double>(now.preemptions - m_last.preemptions)};
        m_last.prefixQueries = now.prefixQueries;
        m_last.prefixHits = now.prefixHits;
        m_last.preemptions = now.preemptions;
        return growth;
    }

private:
    RunnerStats m_last;
};

} // namespace

struct ServerMetrics::State
{
    explicit State(const ServerMetricsOptions &options) : families(options) {}

    void observeTimes(const FinishedRequest &request);
    void countPrefix(double queries, double hits);

    exposition::ServingFamilies families;
    RunnerTotals runner;
    double queryTokens = 0; ///< 0.8.5 counts blocks: the totals in tokens, of which whole blocks are shown.
    double hitTokens = 0;
};

void ServerMetrics::State::countPrefix(double queries, double hits)
{
    if (families.promptTokensCachedBySource != nullptr) {
        families.prefixQueries->add(families.engineLabels, queries);
        families.prefixHits->add(families.engineLabels, hits);
        families.promptTokensCachedBySource->add(families.engineLabelsAnd("source", "device"), hits);
        return;
    }
    const auto newBlocks = [](double &total, double tokens) {
        const double before = std::floor(total / exposition::blockTokens);
        total += tokens;
        return std::floor(total / exposition::blockTokens) - before;
    };
    families.prefixQueries->add(families.engineLabels, newBlocks(queryTokens, queries));
    families.prefixHits->add(families.engineLabels, newBlocks(hitTokens, hits));
}

void ServerMetrics::State::observeTimes(const FinishedRequest &request)
{
    const RequestTimes &times = request.times;
    const double decode = span(times.firstToken, times.lastToken);
    families.endToEnd->observe(families.engineLabels, span(request.arrival, times.lastToken));
    families.queueTime->observe(families.engineLabels, span(times.queued, times.scheduled));
    families.inferenceTime->observe(families.engineLabels, span(times.scheduled, times.lastToken));
    families.prefillTime->observe(families.engineLabels, span(times.scheduled, times.firstToken));
    families.decodeTime->observe(families.engineLabels, decode);
    if (families.requestTimePerOutputToken != nullptr) {
        const int later = request.generationTokens - 1;
        families.requestTimePerOutputToken->observe(families.engineLabels, later > 0 ? decode / later : 0);
    }
}

ServerMetrics::ServerMetrics(ServerMetricsOptions options) : m_state(std::make_unique<State>(options)) {}

ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::firstToken(Seconds timeToFirstToken, int promptTokens, int cachedPromptTokens)
{
    auto &families = m_state->families;
    families.ttft->observe(families.engineLabels, timeToFirstToken.count());
    families.promptTokens->add(families.engineLabels, promptTokens);
    if (families.promptTokensBySource == nullptr)
        return;
    const int cached = std::clamp(cachedPromptTokens, 0, promptTokens);
    families.promptTokensBySource->add(families.engineLabelsAnd("source", "local_compute"),
                                       promptTokens - cached);
    families.promptTokensBySource->add(families.engineLabelsAnd("source", "local_cache_hit"), cached);
    families.promptTokensCached->add(families.engineLabels, cached);
}

void ServerMetrics::laterTokens(Seconds sinceLastToken, int tokenCount)
{
    auto &families = m_state->families;
    if (tokenCount > 0)
        families.interToken->observe(families.engineLabels, sinceLastToken.count(), tokenCount);
}

void ServerMetrics::generatedTokens(int count)
{
    auto &families = m_state->families;
    families.generationTokens->add(families.engineLabels, std::max(count, 0));
}

void ServerMetrics::finished(const FinishedRequest &request)
{
    // A client that left ends its request unseen in vLLM: no reason, and no histogram of whole requests.
    if (!request.countReason)
        return;
    auto &families = m_state->families;
    const Labels &labels = families.engineLabels;
    families.finished->add(families.engineLabelsAnd("finished_reason", reasonText(request.reason)), 1);
    m_state->observeTimes(request);
    families.requestPromptTokens->observe(labels, request.promptTokens);
    families.requestGenerationTokens->observe(labels, request.generationTokens);
    families.requestMaxTokens->observe(labels, request.maxTokens);
    if (request.endsRequest) {
        families.requestN->observe(labels, request.n);
        families.requestLongestGeneration->observe(
            labels, std::max(request.longestGeneration, request.generationTokens));
    }
    if (families.requestPreemptions != nullptr)
        families.requestPreemptions->observe(labels, request.preemptions);
    if (families.requestComputedTokens != nullptr) {
        families.requestComputedTokens->observe(
            labels, std::max(request.promptTokens - request.cachedPromptTokens, 0));
    }
}

void ServerMetrics::runnerStats(const RunnerStats &stats)
{
    auto &families = m_state->families;
    families.running->at(families.engineLabels) = stats.running;
    families.waiting->at(families.engineLabels) = stats.waiting;
    if (families.waitingByReason != nullptr)
        families.waitingByReason->at(families.engineLabelsAnd("reason", "capacity")) = stats.waiting;
    families.kvUse->at(families.engineLabels) = stats.kvTotalTokens > 0
        ? static_cast<double>(stats.kvUsedTokens) / static_cast<double>(stats.kvTotalTokens)
        : 0;
    const auto growth = m_state->runner.take(stats);
    m_state->countPrefix(growth.prefixQueries, growth.prefixHits);
    families.preemptions->add(families.engineLabels, growth.preemptions);
    for (const int tokens : stats.stepTokens)
        families.iterationTokens->observe(families.engineLabels, tokens);
}

void ServerMetrics::rejected(const std::string &reason)
{
    auto &families = m_state->families;
    if (families.rejections != nullptr)
        families.rejections->add({families.modelLabels.front(), {"reason", reason}}, 1);
}

void ServerMetrics::toolCallParsed(const std::string &mode, const std::string &outcome,
                                   const std::string &requestType)
{
    auto &families = m_state->families;
    if (families.toolCalls == nullptr)
        return;
    families.toolCalls->add(
        {{"mode", mode}, families.modelLabels.front(), {"outcome", outcome}, {"request_type", requestType}},
        1);
}

void ServerMetrics::http(const HttpObservation &observation)
{
    const std::string &handler = observation.handler;
    if (std::find(uncountedRoutes.begin(), uncountedRoutes.end(), handler) != uncountedRoutes.end())
        return;
    auto &families = m_state->families;
    const std::string method = boundedMethod(observation.method);
    const std::string status = std::to_string(observation.status / 100) + "xx";
    families.httpRequests->add({{"handler", handler}, {"method", method}, {"status", status}}, 1);
    families.httpRequestBytes->observe({{"handler", handler}}, static_cast<double>(observation.requestBytes));
    families.httpResponseBytes->observe({{"handler", handler}},
                                        static_cast<double>(observation.responseBytes));
    families.httpDurationFine->observe({}, observation.duration.count());
    families.httpDuration->observe({{"handler", handler}, {"method", method}}, observation.duration.count());
}

std::string ServerMetrics::render() const
{
    exposition::Page page;
    exposition::writeProcessMetrics(page);
    for (const auto &family : m_state->families.inOrder)
        family->write(page);
    return page.take();
}

} // namespace engine
