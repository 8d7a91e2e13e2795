#include "ui/pages/metrics/metrics_summary.h"

#include "models/metrics/value_format.h"
#include "ui/charts/chart_overlay.h"
#include "ui/theme/theme.h"
#include "ui/widgets/state_label.h"

#include <QHBoxLayout>
#include <QLabel>

#include <algorithm>

namespace ui {
namespace {
constexpr qsizetype eventsShown = 3; // The newest; the lines in the charts have all
constexpr double wantedShare = 0.98;

// Labels are kept and reused: the row is rewritten at every scrape.
StateLabel *labelAt(QList<StateLabel *> &labels, qsizetype index, QHBoxLayout *row, const Theme &theme)
{
    while (labels.size() <= index) {
        labels.append(new StateLabel(theme, row->parentWidget()));
        row->addWidget(labels.last());
    }
    labels[index]->show();
    return labels[index];
}

void hideFrom(const QList<StateLabel *> &labels, qsizetype index)
{
    for (qsizetype i = index; i < labels.size(); ++i)
        labels[i]->hide();
}
} // namespace

MetricsSummary::MetricsSummary(models::MetricsController &controller, const Theme &theme, QWidget *parent)
    : QWidget(parent), m_controller(controller), m_theme(theme), m_eventRow(new QHBoxLayout),
      m_objectiveRow(new QHBoxLayout), m_objectiveTitle(new QLabel(this)),
      m_stopped(new StateLabel(theme, this))
{
    auto *row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(18);
    m_eventRow->setSpacing(18);
    m_objectiveRow->setSpacing(14);
    m_objectiveTitle->setProperty("role", "secondary");
    m_objectiveRow->addWidget(m_objectiveTitle);
    row->addWidget(m_stopped);
    row->addLayout(m_eventRow);
    row->addStretch();
    row->addLayout(m_objectiveRow);
    m_stopped->hide();
}

void MetricsSummary::update()
{
    const bool isStopped = m_controller.state() == models::MetricsState::Stopped;
    m_stopped->setVisible(isStopped);
    if (isStopped)
        m_stopped->setState(State::Paused,
                            tr("%1 is not running: recorded values").arg(m_controller.endpoint().name));
    updateEvents();
    updateObjectives();
    const auto isShown = [](const StateLabel *label) { return !label->isHidden(); };
    setVisible(isStopped || std::any_of(m_events.begin(), m_events.end(), isShown)
               || std::any_of(m_objectives.begin(), m_objectives.end(), isShown));
}

void MetricsSummary::updateEvents()
{
    const std::vector<models::ChartEvent> events = m_controller.eventsInWindow();
    const qsizetype count = std::min<qsizetype>(eventsShown, static_cast<qsizetype>(events.size()));
    for (qsizetype i = 0; i < count; ++i) {
        const models::ChartEvent &event = events[events.size() - static_cast<std::size_t>(count - i)];
        const bool isLoss = event.kind == models::ChartEvent::Kind::Loss;
        const QString text = momentText(event.time, m_controller.window()) + u' ' + event.text;
        labelAt(m_events, i, m_eventRow, m_theme)->setState(isLoss ? State::Err : State::Ok, text);
    }
    hideFrom(m_events, count);
}

void MetricsSummary::updateObjectives()
{
    qsizetype count = 0;
    for (const models::ChartData &chart : m_controller.charts()) {
        const std::optional<double> share = m_controller.objectiveShare(chart.id);
        if (!share || !chart.limit || !chart.limit->label.startsWith(u"SLO"))
            continue;
        const QString text = QStringLiteral("%1 %2%").arg(chart.title, QString::number(*share * 100, 'f', 1));
        const State state = *share >= wantedShare ? State::Ok : State::Warn;
        labelAt(m_objectives, count++, m_objectiveRow, m_theme)
            ->setState(state, text, tr("Share of the samples within %1").arg(chart.limit->label));
    }
    hideFrom(m_objectives, count);
    m_objectiveTitle->setVisible(count > 0);
    m_objectiveTitle->setText(m_controller.isLive()
                                  ? tr("SLO, last %1").arg(models::stepText(m_controller.range()))
                                  : tr("SLO, this range"));
}
} // namespace ui
