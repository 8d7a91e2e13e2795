#pragma once

#include "models/metrics/chart_data.h"
#include "ui/charts/plot_layer.h"

#include <QWidget>

#include <optional>
#include <vector>

namespace ui {
class ChartGroup;

/// The plot inside a MetricChart: the layer's picture with the overlay over it, and the mouse. A cross-hair
/// that moves repaints only from the picture. While hidden it takes new data without working on them.
class PlotArea : public QWidget
{
    Q_OBJECT

public:
    PlotArea(const Theme &theme, ChartGroup &group, std::vector<SeriesStyle> styles, QWidget *parent);

    void setData(const models::ChartData &data, const models::TimeWindow &window, double longestStep);
    void setEvents(const std::vector<models::ChartEvent> &events);
    void restyle();

    [[nodiscard]] const models::ChartData &data() const { return m_data; }
    [[nodiscard]] const models::TimeWindow &window() const { return m_window; }
    [[nodiscard]] const std::vector<SeriesStyle> &styles() const { return m_styles; }
    [[nodiscard]] const PlotLayer &layer() const { return m_layer; }
    [[nodiscard]] double reach() const;
    /// False if no series has a value to draw inside the window.
    [[nodiscard]] bool hasValues() const { return m_hasValues; }

protected:
    void paintEvent(QPaintEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;
    void showEvent(QShowEvent *event) override;
    void mouseMoveEvent(QMouseEvent *event) override;
    void mousePressEvent(QMouseEvent *event) override;
    void mouseReleaseEvent(QMouseEvent *event) override;
    void mouseDoubleClickEvent(QMouseEvent *event) override;
    void leaveEvent(QEvent *event) override;

private:
    void apply();
    void paintEmpty(QPainter &painter) const;
    [[nodiscard]] double clampedTime(const QPointF &position) const;

    const Theme &m_theme;
    ChartGroup &m_group;
    std::vector<SeriesStyle> m_styles;
    PlotLayer m_layer;
    models::ChartData m_data;
    models::TimeWindow m_window;
    std::vector<models::ChartEvent> m_events;
    std::optional<double> m_dragFrom; // Pixels
    std::optional<models::TimeWindow> m_selection;
    double m_longestStep = 0;
    bool m_isPending = false; // Data came while hidden
    bool m_hasValues = false;
};
} // namespace ui
