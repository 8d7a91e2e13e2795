#pragma once

#include "cluster/base/result.h"
#include "cluster/observe/serving_metrics.h"
#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

namespace cluster {

/// The series that charts show. The order is not stable; the names of chartMetricFacts() are (they are on
/// disk).
enum class ChartMetric {
    RequestsRunning,
    RequestsWaiting,
    KvUse,
    PrefixHitRatio,
    PromptTokensPerSecond,
    OutputTokensPerSecond,
    TtftP50,
    TtftP95,
    TtftP99,
    TpotP50,
    TpotP95,
    TpotP99,
    EndToEndP50,
    EndToEndP95,
    EndToEndP99,
    QueueTimeP95,
    RequestsPerSecond,
    PreemptionsPerMinute,
    ErrorsPerMinute,
};
inline constexpr std::size_t chartMetricCount = 19;

struct ChartMetricFacts
{
    std::string_view name; ///< Stable: column in CSV, key in the history ("ttft_p95").
    std::string_view unit; ///< "", "1" (ratio 0 to 1), "s", "tokens/s", "requests/s", "1/min".
    ServingField field; ///< What the page must export for it.
};

[[nodiscard]] const ChartMetricFacts &chartMetricFacts(ChartMetric metric);
[[nodiscard]] std::optional<ChartMetric> chartMetricByName(std::string_view name);

/// One point, or the summary of several after downsampling.
struct ChartPoint
{
    SampleTime time{};
    double value = 0; ///< Mean. NaN: a gap; the line is broken here.
    double low = 0; ///< Least: of the summarised points, or the lower end of the bucket of a percentile.
    double high = 0; ///< Greatest, likewise; +infinity if the percentile is in the last bucket.
    int weight = 1; ///< How many points it stands for.

    [[nodiscard]] bool isGap() const;
    [[nodiscard]] static ChartPoint gap(SampleTime time);
};

/// Points in order of time in bounded memory. When full, the older half is made half as dense; gaps stay
/// gaps.
class TimeSeries
{
public:
    explicit TimeSeries(std::size_t capacity = 4096); ///< Points; at least 16.

    void append(const ChartPoint &point); ///< Not after the newest: ignored (a clock that was set back).
    [[nodiscard]] const std::vector<ChartPoint> &points() const { return m_points; }
    [[nodiscard]] std::vector<ChartPoint> range(SampleTime from,
                                                SampleTime to) const; ///< Both ends included.
    void clear() { m_points.clear(); }

private:
    void thinOut();

    std::size_t m_capacity;
    std::vector<ChartPoint> m_points;
};

/// Values of all charts from two scrapes that follow each other; only gauges if there is no earlier one. A
/// missing field is an empty value. A percentile of a span in which nothing was observed is empty too.
using ChartValues = std::array<std::optional<ChartPoint>, chartMetricCount>;
[[nodiscard]] ChartValues deriveCharts(const ServingSample *before, const ServingSample &after);

/// What the histograms behind the percentile charts grew by between two scrapes.
struct LatencyIncrease
{
    SampleTime time{};
    std::optional<Histogram> ttft;
    std::optional<Histogram> tpot;
    std::optional<Histogram> endToEnd;
    std::optional<Histogram> queueTime;
};
[[nodiscard]] LatencyIncrease latencyIncrease(const ServingSample *before, const ServingSample &after);

/// Puts the percentiles of all these observations together into the values, as a point at `time`.
void setPercentiles(ChartValues &values, SampleTime time, const std::deque<LatencyIncrease> &increases);

struct ServingSeriesOptions
{
    std::chrono::milliseconds interval{2000}; ///< Between scrapes, as planned.
    double lateFactor = 2.5; ///< A scrape later than so many intervals leaves a gap before it.
    /// Percentiles are those of the last so many seconds: between two scrapes there may be one request or
    /// none.
    std::chrono::milliseconds percentileWindow{30000};
    std::size_t capacity = 4096; ///< Points a series.
};

/// The chart series of one endpoint (or of an aggregate), grown scrape by scrape.
class ServingSeries
{
public:
    explicit ServingSeries(ServingSeriesOptions options = {});

    /// Adds what the scrape gives and returns it, for the history: one value a metric, empty where there is
    /// none.
    ChartValues add(const ServingSample &sample);
    void scrapeFailed(SampleTime time); ///< A gap in every series; rates start again after it.
    void setInterval(std::chrono::milliseconds interval);

    [[nodiscard]] const TimeSeries &series(ChartMetric metric) const;
    /// The last good scrape.
    [[nodiscard]] const std::optional<ServingSample> &latest() const { return m_latest; }

private:
    void breakLines(SampleTime time);

    ServingSeriesOptions m_options;
    std::vector<TimeSeries> m_series; ///< By ChartMetric.
    std::deque<LatencyIncrease> m_latencies; ///< Of the percentile window.
    std::optional<ServingSample> m_latest;
    bool m_canDerive = false; ///< m_latest is the scrape right before the next one.
};

} // namespace cluster
