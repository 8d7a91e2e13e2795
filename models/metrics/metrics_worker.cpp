#include "models/metrics/metrics_worker.h"

#include "cluster/net/http_client.h"
#include "cluster/observe/metric_history.h"

#include <cmath>
#include <set>

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
            modelNames = modelNamesIn(answer->body);
            return cluster::FetchedPage{answer->status, std::string(answer->header("Location").value_or("")),
                                        options.model.empty() ? answer->body
                                                              : pageOfModel(answer->body, options.model)};
        };
    }

    WorkerOptions options;
    std::shared_ptr<MetricsStore> store;
    cluster::HttpClient http;
    std::stop_token stop; // Of the poll that is running
    cluster::MetricPoller poller;
    std::vector<std::string> modelNames; // Of the last page
    std::optional<cluster::ServingSample> previous;
};

MetricsWorker::MetricsWorker(WorkerOptions options, std::shared_ptr<MetricsStore> store)
    : m_state(std::make_unique<State>(std::move(options), std::move(store)))
{
}

MetricsWorker::~MetricsWorker() = default;

namespace {
// The value of model_name in one line of a page, with its escapes; nothing if the line has none.
std::optional<std::string_view> modelNameOf(std::string_view line)
{
    constexpr std::string_view label = "model_name=\"";
    const std::size_t at = line.find(label);
    if (line.empty() || line.front() == '#' || at == std::string_view::npos)
        return std::nullopt;
    const std::size_t from = at + label.size();
    std::size_t to = from;
    while (to < line.size() && line[to] != '"')
        to += line[to] == '\\' ? 2 : 1;
    return line.substr(from, std::min(to, line.size()) - from);
}

template<typename Take>
void forEachLine(std::string_view page, Take take)
{
    while (!page.empty()) {
        const std::size_t end = std::min(page.find('\n'), page.size() - 1);
        take(page.substr(0, end + 1));
        page.remove_prefix(end + 1);
    }
}
} // namespace

std::vector<std::string> modelNamesIn(const std::string &page)
{
    std::set<std::string, std::less<>> names;
    forEachLine(page, [&names](std::string_view line) {
        if (const auto name = modelNameOf(line); name && !names.contains(*name))
            names.emplace(*name);
    });
    return {names.begin(), names.end()};
}

std::string pageOfModel(const std::string &page, const std::string &model)
{
    std::string kept;
    kept.reserve(page.size());
    forEachLine(page, [&kept, &model](std::string_view line) {
        if (modelNameOf(line).value_or(model) == model)
            kept += line;
    });
    return kept;
}

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
    outcome.modelNames = m_state->modelNames;
    outcome.product = std::string(cluster::productName(scrape->sample.product));
    outcome.remarks = remarksOf(scrape->sample);
    if (m_state->previous)
        outcome.wasReset = didRestart(m_state->previous->outputTokens, scrape->sample.outputTokens)
            || didRestart(m_state->previous->promptTokens, scrape->sample.promptTokens);
    m_state->previous = scrape->sample;
    return outcome;
}
} // namespace models
