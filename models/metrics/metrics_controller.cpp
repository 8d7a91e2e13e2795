#include "models/metrics/metrics_controller.h"

#include "models/metrics/chart_catalog.h"
#include "models/metrics/event_log.h"
#include "models/metrics/metrics_worker.h"
#include "models/metrics/series_buffer.h"
#include "models/metrics/value_format.h"

#include <QDateTime>
#include <QUrl>

#include <algorithm>
#include <cmath>

namespace models {
namespace {
using namespace std::chrono_literals;

constexpr auto longestPause = 15000ms; // Between tries while the server does not answer
constexpr double staleAfterIntervals = 3.5;

QString pageUrl(const QString &text)
{
    QUrl url(text.trimmed());
    if (url.path().isEmpty() || url.path() == u'/')
        url.setPath(QStringLiteral("/metrics"));
    return url.toString();
}

QString eventPath(const MetricsOptions &options)
{
    return options.historyPath.isEmpty() ? QString() : options.historyPath + QStringLiteral(".events");
}

cluster::SampleTime sampleTime(double seconds)
{
    return cluster::SampleTime(std::chrono::milliseconds(static_cast<qint64>(std::llround(seconds * 1000))));
}
} // namespace

MetricsController::MetricsController(JobRunner &jobs, MetricsOptions options, QObject *parent)
    : QObject(parent), m_jobs(jobs), m_options(std::move(options)),
      m_store(std::make_shared<MetricsStore>(m_options.historyPath.toStdString())),
      m_buffers(cluster::chartMetricCount)
{
    if (!m_options.clock)
        m_options.clock
            = [] { return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()); };
    for (const CatalogChart &entry : chartCatalog()) {
        ChartData chart;
        chart.id = QString::fromLatin1(entry.id);
        chart.title = tr(entry.title);
        chart.unit = entry.unit;
        chart.limit = entry.limit;
        for (const CatalogSeries &series : entry.series)
            chart.series.push_back({tr(series.name), {}, {}});
        m_charts.push_back(std::move(chart));
    }
    m_pollTimer.setSingleShot(true);
    connect(&m_pollTimer, &QTimer::timeout, this, &MetricsController::startPoll);
    connect(&m_ageTimer, &QTimer::timeout, this, &MetricsController::tick);
    m_ageTimer.setInterval(1000);
    m_step = stepForRange(m_range, static_cast<double>(m_options.interval.count()) / 1000);
    updateCharts();
}

MetricsController::~MetricsController() = default;

double MetricsController::now() const
{
    return cluster::unixSeconds(m_options.clock());
}

void MetricsController::setEndpoint(const MetricsEndpoint &endpoint)
{
    if (endpoint == m_endpoint)
        return;
    m_pollJob.cancel();
    m_loadJob.cancel();
    m_pollTimer.stop();
    m_endpoint = endpoint;
    m_worker.reset();
    m_latest.reset();
    m_problem.reset();
    m_failures = 0;
    m_events.clear();
    readEvents();
    m_arrivedWhileLoading.clear();
    m_halfAliveText.clear();
    m_modelNames.clear();
    m_product.clear();
    for (SeriesBuffer &buffer : m_buffers)
        buffer.clear();
    if (endpoint.url.isEmpty()) {
        m_ageTimer.stop();
        m_state = endpoint.name.isEmpty() ? MetricsState::NoEndpoint : MetricsState::Stopped;
        load();
        updateCharts();
        emit stateChanged();
        emit ageChanged(-1);
        return;
    }
    m_worker = std::make_shared<MetricsWorker>(WorkerOptions{.endpoint = historyKey().toStdString(),
                                                             .url = pageUrl(endpoint.url).toStdString(),
                                                             .bearer = endpoint.bearer.toStdString(),
                                                             .model = endpoint.model.toStdString(),
                                                             .interval = m_options.interval,
                                                             .timeout = m_options.timeout},
                                               m_store);
    m_ageTimer.start();
    setState(MetricsState::Connecting);
    load();
    startPoll();
}

void MetricsController::refresh()
{
    if (m_worker && !m_pollJob.isActive())
        startPoll();
}

void MetricsController::startPoll()
{
    m_pollTimer.stop();
    if (!m_worker || m_pollJob.isActive())
        return;
    m_pollJob = m_jobs.run(
        this,
        [worker = m_worker, time = m_options.clock()](const JobContext &context) {
            return worker->poll(time, context.stopToken());
        },
        [this](const PollOutcome &outcome) { finishPoll(outcome); });
}

void MetricsController::finishPoll(const PollOutcome &outcome)
{
    m_historyProblem = QString::fromStdString(outcome.storeFailure);
    std::chrono::milliseconds pause = m_options.interval;
    if (outcome.failure) {
        ++m_failures;
        pause = std::min<std::chrono::milliseconds>(longestPause,
                                                    m_options.interval * (1 << std::min(m_failures - 1, 4)));
        takeFailure(outcome);
        m_problem->nextTry = now() + static_cast<double>(pause.count()) / 1000;
    } else {
        takeValues(outcome);
        // Counted from the start of this scrape, so that scrapes keep their distance
        pause = std::max<std::chrono::milliseconds>(50ms, pause - (m_options.clock() - outcome.time));
    }
    appendLive(outcome);
    m_pollTimer.start(pause);
    updateCharts();
    emit stateChanged();
    tick();
}

void MetricsController::addEvent(const ChartEvent &event)
{
    m_events.push_back(event);
    if (const QString path = eventPath(m_options); !path.isEmpty())
        m_jobs.run(
            this,
            [path, name = m_endpoint.name, event](const JobContext &) {
                return EventLog(path).append(name, event);
            },
            [](bool) {});
}

void MetricsController::readEvents()
{
    m_eventsJob.cancel();
    const QString path = eventPath(m_options);
    if (path.isEmpty() || m_endpoint.name.isEmpty())
        return;
    m_eventsJob = m_jobs.run(
        this, [path, name = m_endpoint.name](const JobContext &) { return EventLog(path).read(name); },
        [this](const std::vector<ChartEvent> &earlier) {
            // What has happened meanwhile may be in the file already, or not yet.
            const double begin = m_events.empty() ? now() + 1 : m_events.front().time;
            const auto end = std::find_if(earlier.begin(), earlier.end(),
                                          [begin](const ChartEvent &event) { return event.time >= begin; });
            m_events.insert(m_events.begin(), earlier.begin(), end);
            emit chartsChanged();
        });
}

void MetricsController::takeValues(const PollOutcome &outcome)
{
    const double time = cluster::unixSeconds(outcome.time);
    if (m_failures > 0 && m_latest)
        addEvent({time, tr("answers again"), ChartEvent::Kind::Change});
    if (outcome.wasReset)
        addEvent({time, tr("server restarted"), ChartEvent::Kind::Change});
    m_failures = 0;
    m_problem.reset();
    m_latest = std::make_unique<PollOutcome>(outcome);
    m_halfAliveText = QString::fromStdString(outcome.livenessText);
    m_product = QString::fromStdString(outcome.product);
    m_modelNames.clear();
    for (const std::string &name : outcome.modelNames)
        m_modelNames << QString::fromStdString(name);
    m_state = MetricsState::Live;
}

void MetricsController::takeFailure(const PollOutcome &outcome)
{
    const double time = cluster::unixSeconds(outcome.time);
    if (m_failures == 1 && m_latest)
        addEvent({time, tr("no answer"), ChartEvent::Kind::Loss});
    const QString cause = QString::fromStdString(outcome.failure->message);
    MetricsProblem problem;
    problem.what = m_latest ? tr("The metrics of %1 stopped coming.").arg(m_endpoint.name)
                            : tr("The metrics of %1 can't be read.").arg(m_endpoint.name);
    problem.cause = cause;
    problem.attempt = m_failures;
    problem.details
        = tr("Time: %1\nRequest: GET %2\nError: %3\nAttempt: %4")
              .arg(QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(time * 1000)).toString(Qt::ISODate),
                   QUrl(pageUrl(m_endpoint.url)).toString(QUrl::RemoveUserInfo | QUrl::RemoveQuery), cause,
                   QString::number(m_failures));
    m_problem = std::move(problem);
    if (!m_latest)
        m_state = MetricsState::Failed;
}

void MetricsController::appendLive(const PollOutcome &outcome)
{
    if (m_loadJob.isActive()) {
        m_arrivedWhileLoading.push_back(outcome);
        return;
    }
    const double time = cluster::unixSeconds(outcome.time);
    if (!m_isLive && time > m_fixedWindow.to)
        return; // Going live reads it from the history
    for (std::size_t i = 0; i < m_buffers.size(); ++i) {
        if (outcome.failure)
            m_buffers[i].append(Sample{time});
        else if (const std::optional<cluster::ChartPoint> &point = outcome.values[i])
            m_buffers[i].append({cluster::unixSeconds(point->time), point->value});
        m_buffers[i].forgetBefore(window().from);
    }
}

TimeWindow MetricsController::window() const
{
    if (!m_isLive)
        return m_fixedWindow;
    // The end moves by about a pixel at a time: between two moves only the newest samples differ.
    const double stride = std::max(1.0, std::floor(m_range / 360));
    const double end = std::ceil(now() / stride) * stride;
    return {end - m_range, end};
}

void MetricsController::setRange(double seconds)
{
    m_range = std::max(60.0, seconds);
    goLive();
}

void MetricsController::goLive()
{
    m_isLive = true;
    load();
}

void MetricsController::showWindow(const TimeWindow &window)
{
    if (!(window.length() >= 1))
        return;
    m_isLive = false;
    m_fixedWindow = window;
    load();
}

// One model's values are kept apart from the server's.
QString MetricsController::historyKey() const
{
    return m_endpoint.model.isEmpty() ? m_endpoint.name
                                      : m_endpoint.name + QStringLiteral(" · ") + m_endpoint.model;
}

// Reads the window from the history; what is shown stays until it is there.
void MetricsController::load()
{
    m_step = stepForRange(window().length(), static_cast<double>(m_options.interval.count()) / 1000);
    m_arrivedWhileLoading.clear();
    if (m_endpoint.name.isEmpty()) {
        updateCharts();
        emit rangeChanged();
        return;
    }
    const TimeWindow wanted = window();
    const double until = std::min(wanted.to, now());
    // The history is read up to this moment, without it: a scrape of the very moment may be written before
    // the reading or after it, and counted twice it would move the mean of its step.
    if (m_latest && cluster::unixSeconds(m_latest->time) >= until)
        m_arrivedWhileLoading.push_back(*m_latest);
    using Lists = cluster::Result<std::vector<std::vector<cluster::ChartPoint>>>;
    const bool isRaw = m_step * 1000 <= static_cast<double>(m_options.interval.count());
    m_loadJob = m_jobs.run(
        this,
        [store = m_store, key = historyKey().toStdString(), wanted, until, step = isRaw ? 0 : m_step,
         pad = m_step](const JobContext &context) -> Lists {
            return store->read(key, sampleTime(wanted.from - pad), sampleTime(until) - 1ms,
                               std::chrono::milliseconds(static_cast<qint64>(step * 1000)),
                               context.stopToken());
        },
        [this, until](const Lists &lists) {
            if (!lists)
                m_historyProblem = QString::fromStdString(lists.error().message);
            for (std::size_t i = 0; i < m_buffers.size(); ++i) {
                m_buffers[i] = SeriesBuffer(m_step);
                if (!lists)
                    continue;
                for (const cluster::ChartPoint &point : (*lists)[i])
                    m_buffers[i].append(
                        {cluster::unixSeconds(point.time), point.value, point.low, point.high}, point.weight);
            }
            for (const PollOutcome &outcome : std::exchange(m_arrivedWhileLoading, {})) {
                if (cluster::unixSeconds(outcome.time) >= until)
                    appendLive(outcome);
            }
            updateCharts();
            emit stateChanged();
        });
    emit rangeChanged();
}

void MetricsController::tick()
{
    const std::optional<double> old = age();
    emit ageChanged(old ? static_cast<int>(*old) : -1);
    const double limit = staleAfterIntervals * static_cast<double>(m_options.interval.count()) / 1000;
    if (old && m_worker)
        setState(*old > std::max(limit, 3.0) ? MetricsState::Stale : MetricsState::Live);
}

void MetricsController::setState(MetricsState state)
{
    if (m_state == state)
        return;
    m_state = state;
    updateCharts(); // Stale values are not "current"
    emit stateChanged();
}

std::optional<double> MetricsController::age() const
{
    if (!m_latest)
        return std::nullopt;
    return std::max(0.0, now() - cluster::unixSeconds(m_latest->time));
}
} // namespace models
