#pragma once

#include "models/metrics/metrics_controller.h"

#include <QList>
#include <QWidget>

class QComboBox;
class QLabel;
class QToolButton;

namespace ui {
class RangePopup;
class SegmentedButtons;
class Theme;

/// The row above the charts: server and model, range, Live, step, CSV.
class MetricsToolbar : public QWidget
{
    Q_OBJECT

public:
    MetricsToolbar(models::MetricsController &controller, const Theme &theme, QWidget *parent = nullptr);

    /// What the chooser offers; the watched one stays chosen if it is still there.
    void setEndpoints(const QList<models::MetricsEndpoint> &endpoints);
    [[nodiscard]] const QList<models::MetricsEndpoint> &endpoints() const { return m_endpoints; }
    void restyle();
    /// Follows the controller: range, live, step, model names.
    void update();

signals:
    void endpointChosen(const models::MetricsEndpoint &endpoint);
    void otherServerRequested();
    void csvRequested();

private:
    void chooseSegment(int index);
    void fillChooser();

    models::MetricsController &m_controller;
    const Theme &m_theme;
    QList<models::MetricsEndpoint> m_endpoints;
    QList<models::MetricsEndpoint> m_choices; // What each row of the chooser stands for
    QComboBox *m_chooser;
    SegmentedButtons *m_ranges;
    RangePopup *m_popup;
    QToolButton *m_live;
    QLabel *m_step;
    QToolButton *m_csv;
    bool m_isFollowing = false; // The controls are being set, not used
};
} // namespace ui
