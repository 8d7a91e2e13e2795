#include "ui/charts/decimation.h"

#include <algorithm>
#include <cmath>

namespace ui {
namespace {
// Collects one run: of the column being filled only first, least, greatest and last are remembered.
class RunBuilder
{
public:
    RunBuilder(double end, double columnWidth) : m_end(end), m_width(columnWidth) {}

    void add(const models::Sample &sample)
    {
        const double column = std::floor(sample.time / m_width);
        if (m_run.isEmpty() && !m_isFilling) {
            m_run.append(point(sample));
        }
        if (m_isFilling && column != m_column)
            flushColumn();
        if (!m_isFilling) {
            m_isFilling = true;
            m_column = column;
            m_least = m_greatest = sample;
        } else {
            if (sample.value < m_least.value)
                m_least = sample;
            if (sample.value > m_greatest.value)
                m_greatest = sample;
        }
        m_last = sample;
    }

    void finishInto(std::vector<ChartRun> &runs)
    {
        if (m_isFilling) {
            flushColumn();
            appendIfLater(m_last);
            runs.push_back(std::move(m_run));
        }
        m_run = {};
        m_isFilling = false;
    }

private:
    [[nodiscard]] QPointF point(const models::Sample &sample) const
    {
        return {sample.time - m_end, sample.value};
    }
    void appendIfLater(const models::Sample &sample)
    {
        const QPointF next = point(sample);
        if (m_run.isEmpty() || next.x() > m_run.constLast().x())
            m_run.append(next);
    }
    void flushColumn()
    {
        const bool isLeastFirst = m_least.time <= m_greatest.time;
        appendIfLater(isLeastFirst ? m_least : m_greatest);
        appendIfLater(isLeastFirst ? m_greatest : m_least);
        m_isFilling = false;
    }

    double m_end;
    double m_width;
    ChartRun m_run;
    bool m_isFilling = false;
    double m_column = 0;
    models::Sample m_last, m_least, m_greatest;
};
} // namespace

std::vector<ChartRun> decimate(std::span<const models::Sample> samples, const models::TimeWindow &window,
                               int columns, double longestStep)
{
    std::vector<ChartRun> runs;
    if (samples.empty() || columns < 1 || !(window.length() > 0))
        return runs;
    const auto isBefore = [](const models::Sample &sample, double time) { return sample.time < time; };
    auto first = std::lower_bound(samples.begin(), samples.end(), window.from, isBefore);
    auto last = std::lower_bound(first, samples.end(), window.to, isBefore);
    if (first != samples.begin())
        --first;
    if (last != samples.end())
        ++last;
    RunBuilder builder(window.to, window.length() / columns);
    double previous = first == last ? 0 : first->time;
    for (auto it = first; it != last; ++it) {
        if (longestStep > 0 && it->time - previous > longestStep)
            builder.finishInto(runs);
        previous = it->time;
        if (std::isnan(it->value))
            builder.finishInto(runs);
        else
            builder.add(*it);
    }
    builder.finishInto(runs);
    return runs;
}

ChartRun stepped(const ChartRun &run)
{
    ChartRun corners;
    corners.reserve(run.size() * 2);
    for (const QPointF &point : run) {
        if (!corners.isEmpty() && corners.constLast().y() != point.y())
            corners.append({point.x(), corners.constLast().y()});
        corners.append(point);
    }
    return corners;
}

double valueNear(std::span<const models::Sample> samples, double time, double reach)
{
    const auto after
        = std::lower_bound(samples.begin(), samples.end(), time,
                           [](const models::Sample &sample, double at) { return sample.time < at; });
    double best = std::numeric_limits<double>::quiet_NaN();
    double distance = reach;
    const auto consider = [&](const models::Sample &sample) {
        if (const double away = std::abs(sample.time - time); away <= distance) {
            best = sample.value; // a gap nearby is the answer too: it must not show its neighbour's value
            distance = away;
        }
    };
    if (after != samples.begin())
        consider(*(after - 1));
    if (after != samples.end())
        consider(*after);
    return best;
}
} // namespace ui
