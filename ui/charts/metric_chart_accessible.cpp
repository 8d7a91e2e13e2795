#include "ui/charts/metric_chart_accessible.h"

#include "ui/charts/chart_group.h"
#include "ui/charts/metric_chart.h"
#include "ui/charts/plot_area.h"

#include <QAccessibleWidget>
#include <QPointer>

namespace ui {
namespace {
// One series. It asks the chart at every call, so it never tells an old value.
class SeriesAccessible : public QAccessibleInterface
{
public:
    SeriesAccessible(MetricChart *chart, int index) : m_chart(chart), m_index(index) {}

    [[nodiscard]] bool isValid() const override { return m_chart && m_index < m_chart->seriesCount(); }
    [[nodiscard]] QObject *object() const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface *childAt(int, int) const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface *parent() const override
    {
        return m_chart ? QAccessible::queryAccessibleInterface(m_chart.data()) : nullptr;
    }
    [[nodiscard]] QAccessibleInterface *child(int) const override { return nullptr; }
    [[nodiscard]] int childCount() const override { return 0; }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface *) const override { return -1; }
    [[nodiscard]] QString text(QAccessible::Text kind) const override
    {
        return isValid() && kind == QAccessible::Name ? m_chart->seriesText(m_index) : QString();
    }
    void setText(QAccessible::Text, const QString &) override {}
    [[nodiscard]] QRect rect() const override
    {
        const QWidget &area = m_chart->plotArea();
        return {area.mapToGlobal(QPoint()), area.size()};
    }
    [[nodiscard]] QAccessible::Role role() const override { return QAccessible::StaticText; }
    [[nodiscard]] QAccessible::State state() const override
    {
        QAccessible::State state;
        state.readOnly = true;
        state.invisible = !m_chart || !m_chart->isVisible();
        return state;
    }

private:
    QPointer<MetricChart> m_chart;
    int m_index;
};

class MetricChartAccessible : public QAccessibleWidget
{
public:
    explicit MetricChartAccessible(MetricChart *chart) : QAccessibleWidget(chart, QAccessible::Chart) {}
    ~MetricChartAccessible() override
    {
        for (const QAccessible::Id id : m_series)
            QAccessible::deleteAccessibleInterface(id);
    }

    [[nodiscard]] int childCount() const override
    {
        return chart()->seriesCount() + QAccessibleWidget::childCount();
    }
    [[nodiscard]] QAccessibleInterface *child(int index) const override
    {
        const int series = chart()->seriesCount();
        if (index < 0 || index >= childCount())
            return nullptr;
        if (index >= series)
            return QAccessibleWidget::child(index - series);
        while (static_cast<int>(m_series.size()) <= index) {
            const int next = static_cast<int>(m_series.size());
            m_series.push_back(QAccessible::registerAccessibleInterface(new SeriesAccessible(chart(), next)));
        }
        return QAccessible::accessibleInterface(m_series[static_cast<std::size_t>(index)]);
    }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface *wanted) const override
    {
        for (std::size_t i = 0; i < m_series.size(); ++i) {
            if (QAccessible::accessibleInterface(m_series[i]) == wanted)
                return static_cast<int>(i);
        }
        const int widget = QAccessibleWidget::indexOfChild(wanted);
        return widget < 0 ? -1 : widget + chart()->seriesCount();
    }
    [[nodiscard]] QString text(QAccessible::Text kind) const override
    {
        if (kind == QAccessible::Name)
            return chart()->title();
        if (kind == QAccessible::Description || kind == QAccessible::Value) {
            const models::ChartData &data = chart()->plotArea().data();
            return chart()->plotArea().hasValues() ? chart()->valuesText() : data.whyEmpty;
        }
        return QAccessibleWidget::text(kind);
    }

private:
    [[nodiscard]] MetricChart *chart() const { return static_cast<MetricChart *>(widget()); }
    mutable std::vector<QAccessible::Id> m_series;
};

QAccessibleInterface *makeInterface(const QString &, QObject *object)
{
    auto *chart = qobject_cast<MetricChart *>(object);
    return chart ? new MetricChartAccessible(chart) : nullptr;
}
} // namespace

void installMetricChartAccessible()
{
    static const bool isInstalled = [] {
        QAccessible::installFactory(makeInterface);
        return true;
    }();
    Q_UNUSED(isInstalled)
}
} // namespace ui
