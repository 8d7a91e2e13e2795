#pragma once

#include "models/metrics/chart_data.h"
#include "ui/charts/chart_style.h"

#include <QFrame>
#include <QPointer>

#include <vector>

class QLabel;
class QMenu;
class QToolButton;

namespace ui {
class ChartGroup;
class ChartLegend;
class PlotArea;
class Theme;

/// One card of the metrics page: title with state, legend with values, plot, and a menu.
///
/// Keys: Left and Right move the cross-hair of all charts to the next sample, Home and End to the ends of the
/// window, Escape takes it away, Ctrl+C copies the values at the cross-hair (or the newest) as text.
class MetricChart : public QFrame
{
    Q_OBJECT

public:
    MetricChart(const Theme &theme, ChartGroup &group, const QString &title, std::vector<SeriesStyle> styles,
                QWidget *parent = nullptr);
    ~MetricChart() override;

    /// `longestStep`: samples further apart than so many seconds are not joined; 0 joins all but gaps.
    void setData(const models::ChartData &data, const models::TimeWindow &window, double longestStep);
    void setEvents(const std::vector<models::ChartEvent> &events);
    /// Adds "Set objective…" to the menu.
    void allowObjective();
    /// After the theme changed.
    void restyle();

    [[nodiscard]] QString title() const;
    /// Title, moment and one line for each series, with tabs: what Ctrl+C copies.
    [[nodiscard]] QString valuesText() const;
    /// "p95 379 ms": one series at the cross-hair, or its newest value. For legends and screen readers.
    [[nodiscard]] QString seriesText(int index) const;
    [[nodiscard]] int seriesCount() const;
    /// Writes the card in twice its size. False if the file can't be written.
    [[nodiscard]] bool writePicture(const QString &path);
    [[nodiscard]] const PlotArea &plotArea() const { return *m_area; }
    [[nodiscard]] QMenu *menu() const { return m_menu; }

signals:
    /// "Save as picture…" of the menu: the page asks for a file.
    void pictureRequested();
    /// "Save values as CSV…" of the menu.
    void csvRequested();
    /// "Set objective…" of the menu; only after allowObjective().
    void objectiveRequested();

protected:
    void keyPressEvent(QKeyEvent *event) override;
    void focusInEvent(QFocusEvent *event) override;
    void focusOutEvent(QFocusEvent *event) override;
    void paintEvent(QPaintEvent *event) override;

private:
    void buildMenu();
    void moveCrossHair(int key);
    void showValues();
    [[nodiscard]] double valueOf(const models::SeriesData &series) const;
    [[nodiscard]] const models::SeriesData *densestSeries() const;

    const Theme &m_theme;
    ChartGroup &m_group;
    std::vector<SeriesStyle> m_styles;
    QLabel *m_stateIcon;
    QLabel *m_title;
    QLabel *m_unit;
    QToolButton *m_menuButton;
    QMenu *m_menu;
    ChartLegend *m_legend;
    PlotArea *m_area;
};
} // namespace ui
