#pragma once

#include "models/bridge/job_runner.h"
#include "models/metrics/chart_data.h"

#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace models {
class MetricsStore;
class MetricsWorker;
class SeriesBuffer;
struct PollOutcome;

/// A server whose /metrics page is watched.
struct MetricsEndpoint
{
    QString name; ///< For a person; also the key under which its history is kept: keep it stable
    QString url; ///< "http://127.0.0.1:8000"; "/metrics" is added if there is no path
    QString bearer; ///< Access token, empty for none. Never shown, never stored by this class
    QString model = {}; ///< Watch only this one of the page's models; empty: all together
    friend bool operator==(const MetricsEndpoint &, const MetricsEndpoint &) = default;
};

struct MetricsOptions
{
    QString historyPath; ///< SQLite file, made as needed
    std::chrono::milliseconds interval{2000}; ///< Between two scrapes
    std::chrono::milliseconds timeout{5000}; ///< Of one scrape
    /// The wall clock; a parameter so that tests can look back without waiting.
    std::function<std::chrono::sys_time<std::chrono::milliseconds>()> clock = {};
};

enum class MetricsState {
    NoEndpoint,
    Stopped, ///< Known by name, but without an address now: its history is shown, nothing is polled
    Connecting, ///< No page yet, no failure yet
    Live,
    Stale, ///< There are values, but the newest are older than a few intervals
    Failed, ///< The last scrape failed and there was none before
};

/// The last failure, in the parts that a banner shows.
struct MetricsProblem
{
    QString what;
    QString cause;
    QString details; ///< For "Copy details": time, request, error, attempt
    int attempt = 0; ///< Scrapes that failed in a row
    double nextTry = 0; ///< Seconds since the epoch
};

/// Polls one endpoint's /metrics on a pool thread, keeps the history, and holds what the charts of the page
/// show.
///
/// Live: the window ends now and moves. Looking back (showWindow) it stands still while the history goes on
/// being filled. A failed scrape is a gap. What the server does not export is said, not drawn as 0. Lives on
/// the GUI thread; nothing in it blocks.
class MetricsController : public QObject
{
    Q_OBJECT

public:
    /// `jobs` must outlive this object.
    MetricsController(JobRunner &jobs, MetricsOptions options, QObject *parent = nullptr);
    ~MetricsController() override;

    /// Watches another server; window and range stay. Without a url nothing is polled; with a name the
    /// history is still shown.
    void setEndpoint(const MetricsEndpoint &endpoint);
    [[nodiscard]] const MetricsEndpoint &endpoint() const { return m_endpoint; }
    void refresh(); ///< Scrapes now, unless a scrape is under way

    /// Length of the live window in seconds. Returns to live.
    void setRange(double seconds);
    [[nodiscard]] double range() const { return m_range; }
    /// Looks back at a fixed window.
    void showWindow(const TimeWindow &window);
    void goLive();
    [[nodiscard]] bool isLive() const { return m_isLive; }
    [[nodiscard]] TimeWindow window() const;
    [[nodiscard]] double step() const { return m_step; } ///< Seconds between two samples shown
    [[nodiscard]] bool isLoading() const { return m_loadJob.isActive(); }

    [[nodiscard]] const std::vector<ChartData> &charts() const { return m_charts; }
    /// Seconds: samples of this chart that are further apart are not joined.
    [[nodiscard]] double longestStep(int chart) const;
    [[nodiscard]] std::vector<ChartEvent> eventsInWindow() const;
    /// The limit that a chart draws and is judged by ("SLO p95 800 ms"); none takes it away.
    void setObjective(const QString &chartId, std::optional<double> value);
    /// Share (0 to 1) of the samples in the window within the chart's objective; none without one or without
    /// samples.
    [[nodiscard]] std::optional<double> objectiveShare(const QString &chartId) const;

    [[nodiscard]] MetricsState state() const { return m_state; }
    [[nodiscard]] const std::optional<MetricsProblem> &problem() const { return m_problem; }
    /// Seconds since the newest page; none if there was none.
    [[nodiscard]] std::optional<double> age() const;
    [[nodiscard]] QString halfAliveText() const { return m_halfAliveText; } ///< Empty unless it is half alive
    [[nodiscard]] QString historyProblem() const { return m_historyProblem; }
    [[nodiscard]] QStringList modelNames() const { return m_modelNames; }
    [[nodiscard]] QString productName() const { return m_product; }

    /// What the charts show, as CSV text (RFC 4180, UTC, gaps empty). `chartId` empty: all charts.
    [[nodiscard]] QByteArray csv(const QString &chartId = {}) const;
    /// Writes csv() on a pool thread; then exported() or exportFailed().
    void exportCsv(const QString &path, const QString &chartId = {});

signals:
    void chartsChanged(); ///< Samples, window, notes or events
    void stateChanged(); ///< State, problem, half-alive text, model names
    void rangeChanged(); ///< Live or not, range, step
    void ageChanged(int seconds); ///< Once a second; -1: none yet
    void exported(const QString &path);
    void exportFailed(const QString &text);

private:
    void startPoll();
    void finishPoll(const PollOutcome &outcome);
    void takeValues(const PollOutcome &outcome);
    void takeFailure(const PollOutcome &outcome);
    void appendLive(const PollOutcome &outcome);
    void addEvent(const ChartEvent &event);
    void readEvents();
    void load();
    [[nodiscard]] QString historyKey() const;
    void tick();
    void setState(MetricsState state);
    void updateCharts();
    void updateChart(std::size_t index);
    [[nodiscard]] QString emptyText(std::size_t chart) const;
    [[nodiscard]] double now() const;

    JobRunner &m_jobs;
    MetricsOptions m_options;
    std::shared_ptr<MetricsStore> m_store;
    std::shared_ptr<MetricsWorker> m_worker;
    MetricsEndpoint m_endpoint;
    LatestJob m_pollJob;
    LatestJob m_loadJob;
    LatestJob m_eventsJob;
    QTimer m_pollTimer;
    QTimer m_ageTimer;

    double m_range = 3600;
    double m_step = 10;
    bool m_isLive = true;
    TimeWindow m_fixedWindow;
    std::vector<SeriesBuffer> m_buffers; // By ChartMetric
    std::vector<PollOutcome> m_arrivedWhileLoading;
    std::vector<ChartData> m_charts;
    std::vector<ChartEvent> m_events;

    MetricsState m_state = MetricsState::NoEndpoint;
    std::unique_ptr<PollOutcome> m_latest; // The newest good page
    std::optional<MetricsProblem> m_problem;
    int m_failures = 0;
    QString m_halfAliveText;
    QString m_historyProblem;
    QStringList m_modelNames;
    QString m_product;
};
} // namespace models
