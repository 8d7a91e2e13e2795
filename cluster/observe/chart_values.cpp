#include "cluster/observe/time_series.h"

#include <algorithm>
#include <cmath>

namespace cluster {

namespace {

constexpr std::array<ChartMetricFacts, chartMetricCount> facts = {{
    {"requests_running", "", ServingField::Running},
    {"requests_waiting", "", ServingField::Waiting},
    {"kv_use", "1", ServingField::KvUse},
    {"prefix_hit_ratio", "1", ServingField::PrefixHits},
    {"prompt_tokens_per_second", "tokens/s", ServingField::PromptTokens},
    {"output_tokens_per_second", "tokens/s", ServingField::OutputTokens},
    {"ttft_p50", "s", ServingField::Ttft},
    {"ttft_p95", "s", ServingField::Ttft},
    {"ttft_p99", "s", ServingField::Ttft},
    {"tpot_p50", "s", ServingField::InterToken},
    {"tpot_p95", "s", ServingField::InterToken},
    {"tpot_p99", "s", ServingField::InterToken},
    {"e2e_p50", "s", ServingField::EndToEnd},
    {"e2e_p95", "s", ServingField::EndToEnd},
    {"e2e_p99", "s", ServingField::EndToEnd},
    {"queue_time_p95", "s", ServingField::QueueTime},
    {"requests_per_second", "requests/s", ServingField::Finished},
    {"preemptions_per_minute", "1/min", ServingField::Preemptions},
    {"errors_per_minute", "1/min", ServingField::Errors},
}};

/// All reasons as one counter: a reason's series may appear only at its first use, and would be new then.
std::optional<CounterReading> allFinished(const ServingSample &sample)
{
    if (sample.finished.empty())
        return std::nullopt;
    CounterReading all;
    for (const auto &[reason, reading] : sample.finished) {
        for (const CounterPart &part : reading.parts) {
            const auto same
                = std::find_if(all.parts.begin(), all.parts.end(),
                               [&part](const CounterPart &one) { return one.series == part.series; });
            if (same == all.parts.end())
                all.parts.push_back({part.series, part.value, std::nullopt});
            else
                same->value += part.value;
        }
    }
    return all;
}

std::optional<CounterReading> finishedWithError(const ServingSample &sample)
{
    const auto found = sample.finished.find("error");
    return found == sample.finished.end() ? std::nullopt : std::optional(found->second);
}

/// Works out the values of one pair of scrapes.
class Derivation
{
public:
    Derivation(const ServingSample *before, const ServingSample &after) : m_before(before), m_after(after)
    {
        if (before != nullptr)
            m_seconds = std::chrono::duration<double>(after.time - before->time).count();
    }

    ChartValues values();

private:
    using Counter = std::optional<CounterReading>;
    using Histograms = std::optional<HistogramReading>;

    void set(ChartMetric metric, const std::optional<double> &value);
    void setPercentiles(ChartMetric p50, const Histograms ServingSample::*field);
    void setQuantile(ChartMetric metric, const Histogram &grown, double q);
    [[nodiscard]] std::optional<double> grown(const Counter &before, const Counter &after) const;
    [[nodiscard]] std::optional<Histogram> grown(const Histograms ServingSample::*field) const;
    [[nodiscard]] std::optional<double> perSecond(const Counter ServingSample::*field) const;
    [[nodiscard]] std::optional<double> prefixHitRatio() const;
    [[nodiscard]] std::optional<double> errors() const;

    const ServingSample *m_before;
    const ServingSample &m_after;
    double m_seconds = 0;
    ChartValues m_values;
};

void Derivation::set(ChartMetric metric, const std::optional<double> &value)
{
    if (value && std::isfinite(*value))
        m_values[static_cast<std::size_t>(metric)] = ChartPoint{m_after.time, *value, *value, *value, 1};
}

std::optional<double> Derivation::grown(const Counter &before, const Counter &after) const
{
    if (m_before == nullptr || m_seconds <= 0 || !before || !after)
        return std::nullopt;
    const auto result = increase(*before, *after, unixSeconds(m_before->time));
    return result ? std::optional(result->amount) : std::nullopt;
}

std::optional<Histogram> Derivation::grown(const Histograms ServingSample::*field) const
{
    if (m_before == nullptr || !(m_before->*field) || !(m_after.*field))
        return std::nullopt;
    const auto result = increase(*(m_before->*field), *(m_after.*field), unixSeconds(m_before->time));
    return result ? std::optional(result->histogram) : std::nullopt;
}

std::optional<double> Derivation::perSecond(const Counter ServingSample::*field) const
{
    if (m_before == nullptr)
        return std::nullopt;
    const auto amount = grown(m_before->*field, m_after.*field);
    return amount ? std::optional(*amount / m_seconds) : std::nullopt;
}

void Derivation::setQuantile(ChartMetric metric, const Histogram &grown, double q)
{
    const auto found = quantile(grown, q);
    if (found)
        m_values[static_cast<std::size_t>(metric)]
            = ChartPoint{m_after.time, found->value, found->low, found->high, 1};
}

void Derivation::setPercentiles(ChartMetric p50, const Histograms ServingSample::*field)
{
    const auto histogram = grown(field);
    if (!histogram)
        return;
    const auto first = static_cast<int>(p50); // p50, p95 and p99 follow each other in ChartMetric
    setQuantile(p50, *histogram, 0.5);
    setQuantile(static_cast<ChartMetric>(first + 1), *histogram, 0.95);
    setQuantile(static_cast<ChartMetric>(first + 2), *histogram, 0.99);
}

std::optional<double> Derivation::prefixHitRatio() const
{
    if (m_before != nullptr) {
        const auto queries = grown(m_before->prefixQueries, m_after.prefixQueries);
        const auto hits = grown(m_before->prefixHits, m_after.prefixHits);
        if (queries && hits)
            return *queries > 0 ? std::optional(std::min(1.0, *hits / *queries)) : std::nullopt;
    }
    return m_after.prefixHitRatio;
}

std::optional<double> Derivation::errors() const
{
    if (m_before == nullptr)
        return std::nullopt;
    // A failed request is a 5xx, or an "error" inside a stream that began with 200, and may be both.
    const auto status = grown(m_before->errors, m_after.errors);
    const auto finished = grown(finishedWithError(*m_before), finishedWithError(m_after));
    if (!status && !finished)
        return std::nullopt;
    return std::max(status.value_or(0), finished.value_or(0)) / m_seconds * 60;
}

ChartValues Derivation::values()
{
    set(ChartMetric::RequestsRunning, m_after.running);
    set(ChartMetric::RequestsWaiting, m_after.waiting);
    set(ChartMetric::KvUse, m_after.kvUse);
    set(ChartMetric::PrefixHitRatio, prefixHitRatio());
    set(ChartMetric::PromptTokensPerSecond, perSecond(&ServingSample::promptTokens));
    const auto outputRate = perSecond(&ServingSample::outputTokens);
    set(ChartMetric::OutputTokensPerSecond, m_after.outputTokens ? outputRate : m_after.outputTokenRate);
    setPercentiles(ChartMetric::TtftP50, &ServingSample::ttft);
    setPercentiles(ChartMetric::TpotP50,
                   m_after.interToken ? &ServingSample::interToken : &ServingSample::timePerOutputToken);
    setPercentiles(ChartMetric::EndToEndP50, &ServingSample::endToEnd);
    if (const auto queueTime = grown(&ServingSample::queueTime))
        setQuantile(ChartMetric::QueueTimeP95, *queueTime, 0.95);
    if (m_before != nullptr) {
        const auto finished = grown(allFinished(*m_before), allFinished(m_after));
        if (finished)
            set(ChartMetric::RequestsPerSecond, *finished / m_seconds);
    }
    if (const auto preemptions = perSecond(&ServingSample::preemptions))
        set(ChartMetric::PreemptionsPerMinute, *preemptions * 60);
    set(ChartMetric::ErrorsPerMinute, errors());
    return m_values;
}

} // namespace

const ChartMetricFacts &chartMetricFacts(ChartMetric metric)
{
    return facts[static_cast<std::size_t>(metric)];
}

std::optional<ChartMetric> chartMetricByName(std::string_view name)
{
    const auto found
        = std::find_if(facts.begin(), facts.end(), [name](const auto &one) { return one.name == name; });
    if (found == facts.end())
        return std::nullopt;
    return static_cast<ChartMetric>(found - facts.begin());
}

ChartValues deriveCharts(const ServingSample *before, const ServingSample &after)
{
    return Derivation(before, after).values();
}

} // namespace cluster
