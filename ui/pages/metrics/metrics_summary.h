#pragma once

#include "models/metrics/metrics_controller.h"

#include <QWidget>

class QHBoxLayout;
class QLabel;

namespace ui {
class Chip;
class StateLabel;
class Theme;

/// The line above the charts: what happened in the window, and how much of it was within each objective.
/// Without either it is not there.
class MetricsSummary : public QWidget
{
    Q_OBJECT

public:
    MetricsSummary(models::MetricsController &controller, const Theme &theme, QWidget *parent = nullptr);
    void update();

private:
    void updateEvents();
    void updateObjectives();

    models::MetricsController &m_controller;
    const Theme &m_theme;
    QHBoxLayout *m_eventRow;
    QHBoxLayout *m_objectiveRow;
    QLabel *m_objectiveTitle;
    QList<StateLabel *> m_events;
    QList<StateLabel *> m_objectives;
    StateLabel *m_stopped;
};
} // namespace ui
