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

    void set(ChartMetric metric, const std::optional<double> &value);
    [[nodiscard]] std::optional<double> grown(const Counter &before, const Counter &after) const;
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

std::optional<double> Derivation::perSecond(const Counter ServingSample::*field) const
{
    if (m_before == nullptr)
        return std::nullopt;
    const auto amount = grown(m_before->*field, m_after.*field);
    return amount ? std::optional(*amount / m_seconds) : std::nullopt;
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
    ChartValues values = Derivation(before, after).values();
    setPercentiles(values, after.time, {latencyIncrease(before, after)});
    return values;
}

LatencyIncrease latencyIncrease(const ServingSample *before, const ServingSample &after)
{
    LatencyIncrease result;
    result.time = after.time;
    if (before == nullptr)
        return result;
    using Histograms = std::optional<HistogramReading>;
    const auto grown = [before, &after](const Histograms ServingSample::*field) -> std::optional<Histogram> {
        if (!(before->*field) || !(after.*field))
            return std::nullopt;
        const auto found = increase(*(before->*field), *(after.*field), unixSeconds(before->time));
        return found ? std::optional(found->histogram) : std::nullopt;
    };
    result.ttft = grown(&ServingSample::ttft);
    result.tpot = grown(after.interToken ? &ServingSample::interToken : &ServingSample::timePerOutputToken);
    result.endToEnd = grown(&ServingSample::endToEnd);
    result.queueTime = grown(&ServingSample::queueTime);
    return result;
}

void setPercentiles(ChartValues &values, SampleTime time, const std::deque<LatencyIncrease> &increases)
{
    const auto set
        = [&](ChartMetric metric, const std::optional<Histogram> LatencyIncrease::*field, double q) {
              Histogram all;
              for (const LatencyIncrease &one : increases) {
                  if (one.*field)
                      all = all.buckets.empty() ? *(one.*field) : merge(all, *(one.*field));
              }
              auto &value = values[static_cast<std::size_t>(metric)];
              value.reset();
              if (const auto found = quantile(all, q))
                  value = ChartPoint{time, found->value, found->low, found->high, 1};
          };
    set(ChartMetric::TtftP50, &LatencyIncrease::ttft, 0.5);
    set(ChartMetric::TtftP95, &LatencyIncrease::ttft, 0.95);
    set(ChartMetric::TtftP99, &LatencyIncrease::ttft, 0.99);
    set(ChartMetric::TpotP50, &LatencyIncrease::tpot, 0.5);
    set(ChartMetric::TpotP95, &LatencyIncrease::tpot, 0.95);
    set(ChartMetric::TpotP99, &LatencyIncrease::tpot, 0.99);
    set(ChartMetric::EndToEndP50, &LatencyIncrease::endToEnd, 0.5);
    set(ChartMetric::EndToEndP95, &LatencyIncrease::endToEnd, 0.95);
    set(ChartMetric::EndToEndP99, &LatencyIncrease::endToEnd, 0.99);
    set(ChartMetric::QueueTimeP95, &LatencyIncrease::queueTime, 0.95);
}

} // namespace cluster
