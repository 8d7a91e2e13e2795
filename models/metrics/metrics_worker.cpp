#include "models/metrics/metrics_worker.h"

#include "cluster/net/http_client.h"
#include "cluster/observe/metric_history.h"

#include <cmath>

namespace models {
namespace {
using namespace std::chrono_literals;
// A little more than the longest range of the page, so that its left edge is not empty.
constexpr auto retention = 24h * 31;
} // namespace

struct MetricsStore::State
{
    cluster::MetricHistory history;
    cluster::SampleTime cleanedAt{};
};

MetricsStore::MetricsStore(std::string path) : m_path(std::move(path)) {}

MetricsStore::~MetricsStore() = default;

cluster::Status MetricsStore::open()
{
    if (m_state)
        return {};
    cluster::Result<cluster::MetricHistory> history = cluster::MetricHistory::open(m_path);
    if (!history)
        return tl::unexpected(history.error());
    m_state = std::make_unique<State>(State{std::move(*history), {}});
    return {};
}

cluster::Status MetricsStore::write(const std::string &endpoint, const cluster::Scrape *scrape,
                                    cluster::SampleTime time)
{
    const std::lock_guard lock(m_mutex);
    if (const cluster::Status opened = open(); !opened)
        return opened;
    if (time - m_state->cleanedAt > 24h) {
        m_state->cleanedAt = time;
        if (const cluster::Status cleaned = m_state->history.forgetBefore(time - retention); !cleaned)
            return cleaned;
    }
    return m_state->history.write(scrape ? cluster::historyRows(endpoint, scrape->values)
                                         : cluster::historyGaps(endpoint, time));
}

cluster::Result<std::vector<std::vector<cluster::ChartPoint>>>
MetricsStore::read(const std::string &endpoint, cluster::SampleTime from, cluster::SampleTime to,
                   std::chrono::milliseconds step, const std::stop_token &stop)
{
    std::vector<std::vector<cluster::ChartPoint>> lists;
    for (std::size_t i = 0; i < cluster::chartMetricCount; ++i) {
        // Locked for one metric at a time: a poll that wants to write must not wait for all.
        const std::lock_guard lock(m_mutex);
        if (stop.stop_requested())
            return cluster::fail(cluster::ErrorCode::Cancelled, "reading the history was cancelled");
        if (const cluster::Status opened = open(); !opened)
            return tl::unexpected(opened.error());
        auto points = m_state->history.read({endpoint, static_cast<cluster::ChartMetric>(i), from, to, step});
        if (!points)
            return tl::unexpected(points.error());
        lists.push_back(std::move(*points));
    }
    return lists;
}

struct MetricsWorker::State
{
    State(WorkerOptions given, std::shared_ptr<MetricsStore> shared)
        : options(std::move(given)), store(std::move(shared)), poller(pollerOptions(), fetcher())
    {
    }

    [[nodiscard]] cluster::MetricPollerOptions pollerOptions() const
    {
        cluster::MetricPollerOptions wanted;
        wanted.url = options.url;
        wanted.timeout = options.timeout;
        wanted.series.interval = options.interval;
        wanted.series.capacity = 16; // The controller keeps what is shown, the store the rest
        return wanted;
    }

    cluster::FetchPage fetcher()
    {
        return [this](const std::string &url,
                      std::chrono::steady_clock::time_point until) -> cluster::Result<cluster::FetchedPage> {
            cluster::HttpRequest request;
            request.url = url;
            if (!options.bearer.empty())
                request.headers.push_back({"Authorization", "Bearer " + options.bearer});
            cluster::HttpOptions how;
            how.connectTimeout = options.timeout;
            how.deadline = cluster::Deadline(until);
            how.cancel = stop;
            const cluster::Result<cluster::HttpResponse> answer = http.send(request, how);
            if (!answer)
                return tl::unexpected(answer.error());
            return cluster::FetchedPage{answer->status, std::string(answer->header("Location").value_or("")),
                                        answer->body};
        };
    }

    WorkerOptions options;
    std::shared_ptr<MetricsStore> store;
    cluster::HttpClient http;
    std::stop_token stop; // Of the poll that is running
    cluster::MetricPoller poller;
    std::optional<cluster::ServingSample> previous;
};

MetricsWorker::MetricsWorker(WorkerOptions options, std::shared_ptr<MetricsStore> store)
    : m_state(std::make_unique<State>(std::move(options), std::move(store)))
{
}

MetricsWorker::~MetricsWorker() = default;

namespace {
bool didRestart(const std::optional<cluster::CounterReading> &before,
                const std::optional<cluster::CounterReading> &after)
{
    if (!before || !after)
        return false;
    const auto grown = cluster::increase(*before, *after);
    return grown && grown->wasReset;
}

std::vector<PollOutcome::FieldRemark> remarksOf(const cluster::ServingSample &sample)
{
    std::vector<PollOutcome::FieldRemark> remarks;
    for (std::size_t i = 0; i < cluster::chartMetricCount; ++i) {
        const cluster::ServingField field
            = cluster::chartMetricFacts(static_cast<cluster::ChartMetric>(i)).field;
        const cluster::FieldSource *source = sample.source(field);
        remarks.push_back({sample.whyMissing(field), source ? source->renamed : std::string()});
    }
    return remarks;
}
} // namespace

PollOutcome MetricsWorker::poll(cluster::SampleTime now, std::stop_token stop)
{
    m_state->stop = std::move(stop);
    PollOutcome outcome;
    outcome.time = now;
    const cluster::Result<cluster::Scrape> scrape = m_state->poller.poll(now);
    if (!scrape) {
        outcome.failure = scrape.error();
        if (m_state->stop.stop_requested())
            return outcome; // The user left; that is no gap of the server
    }
    const cluster::Status stored
        = m_state->store->write(m_state->options.endpoint, scrape ? &*scrape : nullptr, now);
    if (!stored)
        outcome.storeFailure = stored.error().message;
    if (!scrape)
        return outcome;
    outcome.values = scrape->values;
    outcome.liveness = scrape->liveness;
    outcome.livenessText = m_state->poller.halfAlive().explanation();
    outcome.modelNames = scrape->sample.modelNames;
    outcome.product = std::string(cluster::productName(scrape->sample.product));
    outcome.remarks = remarksOf(scrape->sample);
    if (m_state->previous)
        outcome.wasReset = didRestart(m_state->previous->outputTokens, scrape->sample.outputTokens)
            || didRestart(m_state->previous->promptTokens, scrape->sample.promptTokens);
    m_state->previous = scrape->sample;
    return outcome;
}
} // namespace models
