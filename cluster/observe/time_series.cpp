#include "cluster/observe/time_series.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cluster {

namespace {

/// Neighbours as one; a gap is never mixed with a value.
bool canJoin(const ChartPoint &left, const ChartPoint &right)
{
    return left.isGap() == right.isGap();
}

ChartPoint joined(const ChartPoint &left, const ChartPoint &right)
{
    if (left.isGap())
        return left;
    ChartPoint both = right;
    both.weight = left.weight + right.weight;
    both.value = (left.value * left.weight + right.value * right.weight) / both.weight;
    both.low = std::min(left.low, right.low);
    both.high = std::max(left.high, right.high);
    return both;
}

} // namespace

bool ChartPoint::isGap() const
{
    return std::isnan(value);
}

ChartPoint ChartPoint::gap(SampleTime time)
{
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    return {time, none, none, none, 1};
}

TimeSeries::TimeSeries(std::size_t capacity) : m_capacity(std::max<std::size_t>(capacity, 16)) {}

void TimeSeries::append(const ChartPoint &point)
{
    if (!m_points.empty() && point.time <= m_points.back().time)
        return;
    if (point.isGap() && (m_points.empty() || m_points.back().isGap())) // one break is enough
        return;
    if (m_points.size() >= m_capacity)
        thinOut();
    m_points.push_back(point);
}

void TimeSeries::thinOut()
{
    const auto half = m_points.begin() + static_cast<std::ptrdiff_t>(m_points.size() / 2);
    std::vector<ChartPoint> kept;
    kept.reserve(m_capacity);
    for (auto one = m_points.begin(); one != half; ++one) {
        const auto next = std::next(one);
        if (next != half && canJoin(*one, *next)) {
            kept.push_back(joined(*one, *next));
            ++one;
        } else {
            kept.push_back(*one);
        }
    }
    // Values and gaps in turn cannot be joined: then the oldest go, for the memory is bounded in any case.
    const std::size_t least = m_capacity / 16;
    const std::size_t saved = m_points.size() / 2 - kept.size();
    if (saved < least)
        kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(std::min(least, kept.size())));
    kept.insert(kept.end(), half, m_points.end());
    m_points = std::move(kept);
}

std::vector<ChartPoint> TimeSeries::range(SampleTime from, SampleTime to) const
{
    const auto first
        = std::lower_bound(m_points.begin(), m_points.end(), from,
                           [](const ChartPoint &point, SampleTime time) { return point.time < time; });
    const auto last
        = std::upper_bound(first, m_points.end(), to,
                           [](SampleTime time, const ChartPoint &point) { return time < point.time; });
    return {first, last};
}

ServingSeries::ServingSeries(ServingSeriesOptions options)
    : m_options(options), m_series(chartMetricCount, TimeSeries(options.capacity))
{
}

ChartValues ServingSeries::add(const ServingSample &sample)
{
    if (m_latest && sample.time <= m_latest->time) { // the clock was set back: start again, from here on
        m_canDerive = false;
        m_latencies.clear();
    }
    if (m_canDerive) {
        const auto allowed = m_options.interval * m_options.lateFactor;
        const auto passed = sample.time - m_latest->time;
        if (passed > allowed)
            breakLines(m_latest->time + m_options.interval);
    }
    const ServingSample *before = m_canDerive ? &*m_latest : nullptr;
    ChartValues values = deriveCharts(before, sample);
    m_latencies.push_back(latencyIncrease(before, sample));
    while (m_latencies.front().time + m_options.percentileWindow <= sample.time && m_latencies.size() > 1)
        m_latencies.pop_front();
    setPercentiles(values, sample.time, m_latencies);
    for (std::size_t i = 0; i < chartMetricCount; ++i)
        m_series[i].append(values[i].value_or(ChartPoint::gap(sample.time)));
    m_latest = sample;
    m_canDerive = true;
    return values;
}

void ServingSeries::scrapeFailed(SampleTime time)
{
    breakLines(time);
    m_canDerive = false;
}

void ServingSeries::breakLines(SampleTime time)
{
    m_canDerive = false;
    m_latencies.clear();
    for (TimeSeries &series : m_series)
        series.append(ChartPoint::gap(time));
}

void ServingSeries::setInterval(std::chrono::milliseconds interval)
{
    m_options.interval = interval;
}

const TimeSeries &ServingSeries::series(ChartMetric metric) const
{
    return m_series[static_cast<std::size_t>(metric)];
}

} // namespace cluster
