#pragma once

#include <QString>

#include <limits>
#include <optional>
#include <vector>

namespace models {
/// A stretch of time shown by a chart. Seconds since the epoch, from < to.
struct TimeWindow
{
    double from = 0;
    double to = 0;

    [[nodiscard]] double length() const noexcept { return to - from; }
    friend bool operator==(const TimeWindow &, const TimeWindow &) = default;
};

/// One value of a series. A NaN value says that nothing was measured then: it is a gap, never zero.
struct Sample
{
    double time = 0; ///< seconds since the epoch
    double value = std::numeric_limits<double>::quiet_NaN();
    /// Where the sample stands for several scrapes: the least and the greatest of them. NaN: it is one
    /// scrape.
    double low = std::numeric_limits<double>::quiet_NaN();
    double high = std::numeric_limits<double>::quiet_NaN();
};

/// What a chart's values mean; decides how they are written and which axes are sensible.
enum class ChartUnit {
    Count, ///< whole things: requests, replicas
    Ratio, ///< 0..1, written as a percentage
    Seconds, ///< written in ms below one second
    PerSecond,
    PerMinute,
    Tokens,
};

struct SeriesData
{
    QString name; ///< as in the legend: "running", "p95"
    std::vector<Sample> samples; ///< in ascending time
    std::optional<double> latest; ///< at the last scrape; none if the server did not say
};

/// What happened at a moment, drawn as a line through every chart.
struct ChartEvent
{
    enum class Kind { Change, Loss };
    double time = 0; ///< seconds since the epoch
    QString text;
    Kind kind = Kind::Change;
};

/// A limit drawn across a chart: an objective or a warning threshold.
struct ChartLimit
{
    double value = 0;
    QString label;
};

/// Everything that one chart shows, as plain values: what a page copies from the controller.
struct ChartData
{
    QString id; ///< stable: "requests", "ttft"
    QString title;
    ChartUnit unit = ChartUnit::Count;
    std::vector<SeriesData> series;
    std::optional<ChartLimit> limit;
    QString note; ///< shown behind the legend; "renamed in …", "queue time"
    QString whyEmpty; ///< shown in place of the plot when no series has a value
    bool isWarning = false; ///< the latest values are beyond the limit
};
} // namespace models
