#pragma once

#include "models/metrics/metrics_controller.h"
#include "ui/shell/page.h"

#include <QList>

#include <vector>

class QGridLayout;
class QScrollArea;

namespace ui {
class Banner;
class ChartGroup;
class EmptyState;
class MetricChart;
class MetricsSummary;
class MetricsToolbar;
class Theme;

/// The metrics of one server, live or looking back: mock 05.
class MetricsPage : public Page
{
    Q_OBJECT

public:
    /// Both must outlive the page.
    MetricsPage(models::MetricsController &controller, const Theme &theme, QWidget *parent = nullptr);

    /// Servers that the program knows (the local engine). The user's own are added to them. If none is
    /// watched yet, the first one is.
    void setEndpoints(const QList<models::MetricsEndpoint> &endpoints);
    /// Adds a server of the user's, remembers it, and watches it.
    void addServer(const QString &url);

    [[nodiscard]] QList<PageAction> actions() override { return m_actions; }
    void refresh() override { m_controller.refresh(); }
    [[nodiscard]] QWidget *startWidget() override;

    [[nodiscard]] const std::vector<MetricChart *> &charts() const { return m_charts; }
    [[nodiscard]] ChartGroup &group() const { return *m_group; }

protected:
    void showEvent(QShowEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;

private:
    void buildActions();
    void buildCharts();
    void arrange();
    void applyCharts();
    void applyState();
    void showProblem();
    void askForServer();
    void askForCsv(const QString &chartId);
    void askForPicture(MetricChart *chart);
    void askForObjective(MetricChart *chart, const QString &chartId);
    void loadObjectives();
    void restyle();

    models::MetricsController &m_controller;
    const Theme &m_theme;
    QList<models::MetricsEndpoint> m_known;
    QList<PageAction> m_actions;
    ChartGroup *m_group;
    MetricsToolbar *m_toolbar;
    Banner *m_banner;
    MetricsSummary *m_summary;
    EmptyState *m_empty;
    QScrollArea *m_scroll;
    QGridLayout *m_grid;
    std::vector<MetricChart *> m_charts;
    int m_columns = 0;
    bool m_isPending = true; // Charts changed while hidden
};
} // namespace ui
