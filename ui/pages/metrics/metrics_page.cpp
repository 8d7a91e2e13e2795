#include "ui/pages/metrics/metrics_page.h"

#include "models/metrics/value_format.h"
#include "ui/charts/chart_group.h"
#include "ui/charts/chart_overlay.h"
#include "ui/charts/metric_chart.h"
#include "ui/pages/metrics/chart_looks.h"
#include "ui/pages/metrics/metrics_summary.h"
#include "ui/pages/metrics/metrics_toolbar.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/empty_state.h"

#include <QFileDialog>
#include <QGridLayout>
#include <QInputDialog>
#include <QScrollArea>
#include <QSettings>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>

namespace ui {
namespace {
constexpr int chartMinimumWidth = 320;
constexpr int chartMinimumHeight = 190;
const QString serversKey = QStringLiteral("metrics/servers");
const QString objectivesKey = QStringLiteral("metrics/objectives/");

QList<models::MetricsEndpoint> rememberedServers()
{
    QList<models::MetricsEndpoint> servers;
    for (const QString &url : QSettings().value(serversKey).toStringList())
        servers.append({QUrl(url).authority(), url, {}});
    return servers;
}

// The latencies: what an objective is usually given for.
bool canHaveObjective(const models::ChartData &chart)
{
    return chart.unit == models::ChartUnit::Seconds;
}
} // namespace

MetricsPage::MetricsPage(models::MetricsController &controller, const Theme &theme, QWidget *parent)
    : Page({QStringLiteral("metrics"), tr("Metrics"), QStringLiteral("metrics"), 4}, parent),
      m_controller(controller), m_theme(theme), m_group(new ChartGroup(this)),
      m_toolbar(new MetricsToolbar(controller, theme, this)), m_banner(new Banner(theme, this)),
      m_summary(new MetricsSummary(controller, theme, this)),
      m_empty(new EmptyState(tr("No server is watched."), tr("Add a server…"), this)),
      m_scroll(new QScrollArea(this)), m_grid(nullptr)
{
    auto *line = new QFrame(this);
    line->setFixedHeight(1);
    line->setStyleSheet(QStringLiteral("background: palette(mid);"));
    line->setObjectName(QStringLiteral("separator"));
    auto *content = new QWidget(m_scroll);
    m_grid = new QGridLayout(content);
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setSpacing(10);
    m_scroll->setWidget(content);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->setFocusPolicy(Qt::NoFocus);
    auto *body = new QVBoxLayout;
    body->setContentsMargins(14, 10, 14, 10);
    body->setSpacing(10);
    body->addWidget(m_banner);
    body->addWidget(m_summary);
    body->addWidget(m_empty);
    body->addWidget(m_scroll, 1);
    auto *column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_toolbar);
    column->addWidget(line);
    column->addLayout(body, 1);
    m_banner->dismiss();
    buildCharts();
    buildActions();
    loadObjectives();
    restyle();

    connect(&controller, &models::MetricsController::chartsChanged, this, &MetricsPage::applyCharts);
    connect(&controller, &models::MetricsController::stateChanged, this, &MetricsPage::applyState);
    connect(&controller, &models::MetricsController::rangeChanged, m_toolbar, &MetricsToolbar::update);
    connect(&controller, &models::MetricsController::ageChanged, this, &Page::metricsAgeChanged);
    connect(&controller, &models::MetricsController::exported, this, [this](const QString &path) {
        setStatusText(tr("Saved %1").arg(QDir::toNativeSeparators(path)));
    });
    connect(&controller, &models::MetricsController::exportFailed, this, [this](const QString &text) {
        m_banner->showText({State::Err, tr("The values were not saved."), text, text});
    });
    connect(&theme, &Theme::changed, this, &MetricsPage::restyle);
    connect(m_toolbar, &MetricsToolbar::endpointChosen, &controller, &models::MetricsController::setEndpoint);
    connect(m_toolbar, &MetricsToolbar::otherServerRequested, this, &MetricsPage::askForServer);
    connect(m_toolbar, &MetricsToolbar::csvRequested, this, [this] { askForCsv({}); });
    connect(m_empty, &EmptyState::actionTriggered, this, &MetricsPage::askForServer);
    connect(m_group, &ChartGroup::rangeSelected, &controller, &models::MetricsController::showWindow);
    connect(m_group, &ChartGroup::resetRequested, &controller, &models::MetricsController::goLive);
    connect(m_group, &ChartGroup::crossHairChanged, this, [this] {
        const std::optional<double> time = m_group->crossHair();
        setStatusText(time ? tr("Cross-hair %1").arg(momentText(*time, m_controller.window())) : QString());
    });
    setEndpoints({});
    applyState();
}

void MetricsPage::buildCharts()
{
    for (const models::ChartData &data : m_controller.charts()) {
        auto *chart
            = new MetricChart(m_theme, *m_group, data.title, chartLook(data.id, data.series.size()), this);
        chart->setMinimumSize(chartMinimumWidth - 20, chartMinimumHeight);
        chart->setObjectName(QStringLiteral("chart-") + data.id);
        connect(chart, &MetricChart::csvRequested, this, [this, id = data.id] { askForCsv(id); });
        connect(chart, &MetricChart::pictureRequested, this, [this, chart] { askForPicture(chart); });
        if (canHaveObjective(data)) {
            chart->allowObjective();
            connect(chart, &MetricChart::objectiveRequested, this,
                    [this, chart, id = data.id] { askForObjective(chart, id); });
        }
        m_charts.push_back(chart);
    }
    arrange();
}

void MetricsPage::arrange()
{
    const int columns = std::clamp((width() - 28) / chartMinimumWidth, 1, 3);
    if (columns == m_columns)
        return;
    for (int i = 0; i < m_columns; ++i)
        m_grid->setColumnStretch(i, 0);
    m_columns = columns;
    for (std::size_t i = 0; i < m_charts.size(); ++i)
        m_grid->addWidget(m_charts[i], static_cast<int>(i) / columns, static_cast<int>(i) % columns);
    for (int i = 0; i < columns; ++i)
        m_grid->setColumnStretch(i, 1);
}

void MetricsPage::buildActions()
{
    auto *csv = new QAction(tr("Save metrics as &CSV…"), this);
    connect(csv, &QAction::triggered, this, [this] { askForCsv({}); });
    auto *live = new QAction(tr("Show metrics &live"), this);
    connect(live, &QAction::triggered, &m_controller, &models::MetricsController::goLive);
    auto *other = new QAction(tr("Watch &another server…"), this);
    connect(other, &QAction::triggered, this, &MetricsPage::askForServer);
    m_actions = {{csv, MenuId::File}, {live, MenuId::View}, {other, MenuId::Target}};
}

void MetricsPage::setEndpoints(const QList<models::MetricsEndpoint> &endpoints)
{
    m_known = endpoints;
    QList<models::MetricsEndpoint> all = endpoints;
    for (const models::MetricsEndpoint &server : rememberedServers()) {
        if (std::none_of(all.begin(), all.end(), [&](const auto &known) { return known.url == server.url; }))
            all.append(server);
    }
    m_toolbar->setEndpoints(all);
    const models::MetricsEndpoint &watched = m_controller.endpoint();
    const auto same
        = std::find_if(all.begin(), all.end(), [&](const auto &one) { return one.name == watched.name; });
    if (same != all.end()) { // The local engine comes back on another port
        models::MetricsEndpoint again = *same;
        again.model = watched.model;
        m_controller.setEndpoint(again);
    } else if (watched.name.isEmpty() && !all.isEmpty()) {
        m_controller.setEndpoint(all.first());
    }
    m_toolbar->update();
}

void MetricsPage::addServer(const QString &text)
{
    const QUrl url = QUrl::fromUserInput(text.trimmed());
    if (!url.isValid() || url.host().isEmpty()) {
        m_banner->showText({State::Err, tr("'%1' is not the address of a server.").arg(text),
                            tr("An address looks like http://127.0.0.1:8000."), text});
        return;
    }
    const QString address = url.toString(QUrl::StripTrailingSlash | QUrl::RemoveUserInfo);
    QStringList servers = QSettings().value(serversKey).toStringList();
    servers.removeAll(address);
    servers.prepend(address);
    QSettings().setValue(serversKey, servers);
    setEndpoints(m_known);
    m_controller.setEndpoint({url.authority(), address, {}});
    m_toolbar->update();
}

void MetricsPage::askForServer()
{
    const QString text = QInputDialog::getText(this, tr("Watch another server"),
                                               tr("Address of the server or of its metrics page:"),
                                               QLineEdit::Normal, QStringLiteral("http://127.0.0.1:8000"));
    if (!text.isEmpty())
        addServer(text);
}

QWidget *MetricsPage::startWidget()
{
    return m_charts.front();
}

void MetricsPage::showEvent(QShowEvent *event)
{
    Page::showEvent(event);
    arrange();
    if (m_isPending)
        applyCharts();
}

void MetricsPage::resizeEvent(QResizeEvent *event)
{
    Page::resizeEvent(event);
    arrange();
}

void MetricsPage::applyCharts()
{
    m_isPending = !isVisible();
    if (m_isPending)
        return;
    const models::TimeWindow window = m_controller.window();
    const std::vector<models::ChartEvent> events = m_controller.eventsInWindow();
    const std::vector<models::ChartData> &data = m_controller.charts();
    for (std::size_t i = 0; i < m_charts.size(); ++i) {
        m_charts[i]->setData(data[i], window, m_controller.longestStep(static_cast<int>(i)));
        m_charts[i]->setEvents(events);
    }
    m_summary->update();
}

void MetricsPage::applyState()
{
    using models::MetricsState;
    const MetricsState state = m_controller.state();
    const bool isEmpty = state == MetricsState::NoEndpoint;
    m_empty->setVisible(isEmpty);
    m_scroll->setVisible(!isEmpty);
    if (state == MetricsState::Failed)
        setState(State::Err, tr("No metrics"));
    else if (state == MetricsState::Stopped)
        setState(State::Paused, tr("Not running"));
    else if (state == MetricsState::Stale)
        setState(State::Unknown, tr("Metrics %1 ago").arg(models::ageText(m_controller.age().value_or(0))));
    else if (!m_controller.halfAliveText().isEmpty())
        setState(State::Warn, tr("Half alive"));
    else
        setState(State::None);
    m_toolbar->update();
    m_summary->update();
    showProblem();
}

void MetricsPage::showProblem()
{
    const BannerFix again{tr("Try now"), [this] { m_controller.refresh(); }};
    if (const std::optional<models::MetricsProblem> &problem = m_controller.problem()) {
        const bool isOld = m_controller.age().has_value();
        const QString tries = tr("Attempt %1, the next one at %2.")
                                  .arg(problem->attempt)
                                  .arg(momentText(problem->nextTry, {0, 1}));
        m_banner->showText({isOld ? State::Warn : State::Err, problem->what,
                            problem->cause + QStringLiteral(". ") + tries, problem->details},
                           {again, {tr("Other server…"), [this] { askForServer(); }}});
    } else if (!m_controller.halfAliveText().isEmpty()) {
        m_banner->showText({State::Warn, tr("The server has requests, but makes no tokens."),
                            m_controller.halfAliveText(), m_controller.halfAliveText()});
    } else if (!m_controller.historyProblem().isEmpty()) {
        m_banner->showText({State::Warn, tr("The values are shown, but not kept."),
                            m_controller.historyProblem(), m_controller.historyProblem()});
    } else {
        m_banner->dismiss();
    }
}

void MetricsPage::askForCsv(const QString &chartId)
{
    const QString name = chartId.isEmpty() ? QStringLiteral("metrics.csv") : chartId + QStringLiteral(".csv");
    const QString path = QFileDialog::getSaveFileName(this, tr("Save values"), name, tr("CSV (*.csv)"));
    if (!path.isEmpty())
        m_controller.exportCsv(path, chartId);
}

void MetricsPage::askForPicture(MetricChart *chart)
{
    const QString path = QFileDialog::getSaveFileName(
        this, tr("Save chart"), chart->title() + QStringLiteral(".png"), tr("PNG (*.png)"));
    if (path.isEmpty())
        return;
    if (chart->writePicture(path))
        setStatusText(tr("Saved %1").arg(QDir::toNativeSeparators(path)));
    else
        m_banner->showText(
            {State::Err, tr("The picture was not saved."), tr("%1 can't be written.").arg(path), path});
}

void MetricsPage::askForObjective(MetricChart *chart, const QString &chartId)
{
    const QString key = objectivesKey + chartId;
    bool isGiven = false;
    const double value = QInputDialog::getDouble(
        this, tr("Objective for %1").arg(chart->title()), tr("p95 at most, in milliseconds (0: none):"),
        QSettings().value(key).toDouble() * 1000, 0, 3600000, 1, &isGiven);
    if (!isGiven)
        return;
    if (value > 0)
        QSettings().setValue(key, value / 1000);
    else
        QSettings().remove(key);
    loadObjectives();
}

void MetricsPage::loadObjectives()
{
    for (const models::ChartData &chart : m_controller.charts()) {
        if (!canHaveObjective(chart))
            continue;
        const double value = QSettings().value(objectivesKey + chart.id).toDouble();
        m_controller.setObjective(chart.id, value > 0 ? std::optional(value) : std::nullopt);
    }
}

void MetricsPage::restyle()
{
    for (MetricChart *chart : m_charts)
        chart->restyle();
    m_toolbar->restyle();
    findChild<QFrame *>(QStringLiteral("separator"))
        ->setStyleSheet(QStringLiteral("background: %1;").arg(m_theme.color(QStringLiteral("line")).name()));
}
} // namespace ui
