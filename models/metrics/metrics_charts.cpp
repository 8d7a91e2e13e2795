// The half of MetricsController that turns its buffers into what charts, chips and files show.
#include "models/metrics/chart_catalog.h"
#include "models/metrics/metrics_controller.h"
#include "models/metrics/metrics_worker.h"
#include "models/metrics/series_buffer.h"
#include "models/metrics/value_format.h"

#include "cluster/observe/metric_csv.h"

#include <QRegularExpression>
#include <QSaveFile>

#include <algorithm>
#include <cmath>
#include <limits>

namespace models {
namespace {
// A percentile exists only where a request ended; so far apart it is still one line.
constexpr double percentileReach = 60;

std::size_t indexOf(cluster::ChartMetric metric)
{
    return static_cast<std::size_t>(metric);
}

// The newest value if it is young enough to be called current.
std::optional<double> newest(const std::vector<Sample> &samples, double notBefore)
{
    if (samples.empty() || samples.back().time < notBefore || std::isnan(samples.back().value))
        return std::nullopt;
    return samples.back().value;
}

// As valueText(), without digits that say nothing: "40 ms", not "40.0 ms".
QString limitText(ChartUnit unit, double value)
{
    static const QRegularExpression noise(QStringLiteral("\\.0+(?= |%|$)"));
    return valueText(unit, value).remove(noise);
}

// A percentile is judged by its p95, everything else by its first series.
std::size_t judgedSeries(const CatalogChart &entry)
{
    for (std::size_t i = 0; i < entry.series.size(); ++i) {
        if (std::string_view(entry.series[i].name) == "p95")
            return i;
    }
    return 0;
}
} // namespace

double MetricsController::longestStep(int chart) const
{
    const double step = std::max(m_step, static_cast<double>(m_options.interval.count()) / 1000);
    const bool isPercentile = chartCatalog().at(static_cast<std::size_t>(chart)).isPercentile;
    return isPercentile ? std::max(percentileReach, step * 3) : step * 3;
}

void MetricsController::updateCharts()
{
    for (std::size_t i = 0; i < m_charts.size(); ++i)
        updateChart(i);
    emit chartsChanged();
}

void MetricsController::updateChart(std::size_t index)
{
    const CatalogChart &entry = chartCatalog()[index];
    ChartData &chart = m_charts[index];
    chart.note.clear();
    for (std::size_t i = 0; i < entry.series.size(); ++i) {
        const std::size_t metric = indexOf(entry.series[i].metric);
        SeriesData &series = chart.series[i];
        series.samples = m_buffers[metric].samples();
        // A percentile's least and greatest are the ends of its bucket: not what a band over time means.
        if (entry.isPercentile)
            for (Sample &sample : series.samples)
                sample.low = sample.high = std::numeric_limits<double>::quiet_NaN();
        series.latest.reset();
        if (m_latest && m_state == MetricsState::Live) {
            if (const auto &point = m_latest->values[metric]; point && !point->isGap())
                series.latest = point->value;
            else if (entry.isPercentile && m_isLive)
                series.latest = newest(series.samples, now() - percentileReach);
            if (const std::string &renamed = m_latest->remarks[metric].renamed; !renamed.empty())
                chart.note = QString::fromStdString(renamed);
        }
    }
    const std::optional<double> judged = chart.series[judgedSeries(entry)].latest;
    chart.isWarning = judged && chart.limit && *judged > chart.limit->value;
    chart.whyEmpty = emptyText(index);
}

QString MetricsController::emptyText(std::size_t index) const
{
    const CatalogChart &entry = chartCatalog()[index];
    if (m_endpoint.name.isEmpty())
        return tr("No server chosen");
    if (m_latest) {
        // One series is enough for a chart; if none is exported, say why.
        QString missing;
        for (const CatalogSeries &series : entry.series) {
            const std::string &why = m_latest->remarks[indexOf(series.metric)].missing;
            if (why.empty())
                return entry.isPercentile ? tr("No requests in this time")
                                          : tr("No data recorded in this time");
            if (missing.isEmpty())
                missing = QString::fromStdString(why);
        }
        return missing;
    }
    if (m_state == MetricsState::Failed || m_state == MetricsState::Stopped)
        return tr("No data recorded in this time");
    return tr("Waiting for the first values");
}

std::vector<ChartEvent> MetricsController::eventsInWindow() const
{
    const TimeWindow shown = window();
    std::vector<ChartEvent> inside;
    std::copy_if(
        m_events.begin(), m_events.end(), std::back_inserter(inside),
        [&shown](const ChartEvent &event) { return event.time >= shown.from && event.time <= shown.to; });
    return inside;
}

void MetricsController::setObjective(const QString &chartId, std::optional<double> value)
{
    for (std::size_t i = 0; i < m_charts.size(); ++i) {
        if (m_charts[i].id != chartId)
            continue;
        const CatalogChart &entry = chartCatalog()[i];
        m_charts[i].limit = entry.limit;
        if (value) {
            const QString which
                = entry.isPercentile && entry.series.size() > 1 ? QStringLiteral("p95 ") : QString();
            m_charts[i].limit
                = ChartLimit{*value, QStringLiteral("SLO ") + which + limitText(entry.unit, *value)};
        }
    }
    updateCharts();
}

std::optional<double> MetricsController::objectiveShare(const QString &chartId) const
{
    const TimeWindow shown = window();
    for (std::size_t i = 0; i < m_charts.size(); ++i) {
        if (m_charts[i].id != chartId || !m_charts[i].limit)
            continue;
        int within = 0;
        int all = 0;
        for (const Sample &sample : m_charts[i].series[judgedSeries(chartCatalog()[i])].samples) {
            if (std::isnan(sample.value) || sample.time < shown.from || sample.time > shown.to)
                continue;
            ++all;
            within += sample.value <= m_charts[i].limit->value ? 1 : 0;
        }
        if (all > 0)
            return static_cast<double>(within) / all;
    }
    return std::nullopt;
}

QByteArray MetricsController::csv(const QString &chartId) const
{
    const TimeWindow shown = window();
    std::vector<cluster::CsvColumn> columns;
    for (std::size_t i = 0; i < m_charts.size(); ++i) {
        if (!chartId.isEmpty() && m_charts[i].id != chartId)
            continue;
        for (std::size_t j = 0; j < m_charts[i].series.size(); ++j) {
            cluster::CsvColumn column;
            column.metric = chartCatalog()[i].series[j].metric;
            for (const Sample &sample : m_charts[i].series[j].samples) {
                if (sample.time < shown.from || sample.time > shown.to)
                    continue;
                cluster::ChartPoint point;
                point.time = cluster::SampleTime(
                    std::chrono::milliseconds(static_cast<qint64>(std::llround(sample.time * 1000))));
                point.value = point.low = point.high = sample.value;
                column.points.push_back(point);
            }
            columns.push_back(std::move(column));
        }
    }
    return QByteArray::fromStdString(cluster::chartCsv(columns));
}

void MetricsController::exportCsv(const QString &path, const QString &chartId)
{
    m_jobs.run(
        this,
        [path, text = csv(chartId)](const JobContext &) {
            QSaveFile file(path);
            const bool isWritten
                = file.open(QIODevice::WriteOnly) && file.write(text) == text.size() && file.commit();
            return isWritten ? QString() : file.errorString();
        },
        [this, path](const QString &failure) {
            if (failure.isEmpty())
                emit exported(path);
            else
                emit exportFailed(tr("%1 can't be written: %2").arg(path, failure));
        });
}
} // namespace models
