#include "ui/charts/plot_area.h"

#include "ui/charts/chart_group.h"
#include "ui/charts/chart_overlay.h"
#include "ui/theme/theme.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace ui {
namespace {
constexpr double dragThreshold = 5;

bool hasValueInside(const models::ChartData &data, const models::TimeWindow &window)
{
    for (const models::SeriesData &series : data.series) {
        for (const models::Sample &sample : series.samples) {
            if (sample.time >= window.from && sample.time <= window.to && std::isfinite(sample.value))
                return true;
        }
    }
    return false;
}
} // namespace

PlotArea::PlotArea(const Theme &theme, ChartGroup &group, std::vector<SeriesStyle> styles, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_group(group), m_styles(std::move(styles)), m_layer(theme)
{
    setMouseTracking(true);
    setMinimumSize(140, 90);
    m_layer.setStyles(m_styles);
    connect(&group, &ChartGroup::crossHairChanged, this, qOverload<>(&QWidget::update));
}

double PlotArea::reach() const
{
    const double pixel = m_window.length() / std::max(1.0, m_layer.plotRect().width());
    return std::max(m_longestStep, pixel * 2);
}

void PlotArea::setData(const models::ChartData &data, const models::TimeWindow &window, double longestStep)
{
    m_data = data;
    m_window = window;
    m_longestStep = longestStep;
    m_isPending = true;
    if (isVisible())
        apply();
}

void PlotArea::apply()
{
    if (!m_isPending || !(m_window.length() > 0))
        return;
    m_isPending = false;
    const bool hadValues = m_hasValues;
    m_hasValues = hasValueInside(m_data, m_window);
    m_layer.resize(size());
    if (m_layer.setData(m_data, m_window, m_longestStep) || hadValues != m_hasValues || !m_hasValues)
        update();
}

void PlotArea::setEvents(const std::vector<models::ChartEvent> &events)
{
    m_events = events;
    update();
}

void PlotArea::restyle()
{
    m_layer.restyle();
    update();
}

void PlotArea::resizeEvent(QResizeEvent *)
{
    m_isPending = true; // Other pixel columns
    if (isVisible())
        apply();
}

void PlotArea::showEvent(QShowEvent *)
{
    apply();
}

void PlotArea::paintEvent(QPaintEvent *)
{
    QPainter painter(this);
    if (!(m_window.length() > 0) || (!m_hasValues && !m_data.whyEmpty.isEmpty())) {
        paintEmpty(painter);
        return;
    }
    painter.drawPixmap(0, 0, m_layer.picture(devicePixelRatioF()));
    const bool isPointedAt = underMouse() || (parentWidget() && parentWidget()->hasFocus());
    paintOverlay(painter,
                 {.theme = m_theme,
                  .layer = m_layer,
                  .data = m_data,
                  .styles = m_styles,
                  .events = m_events,
                  .reach = reach(),
                  .crossHair = m_group.crossHair(),
                  .selection = m_selection,
                  .hasTooltip = isPointedAt && m_hasValues});
}

void PlotArea::paintEmpty(QPainter &painter) const
{
    painter.setFont(m_theme.font(Theme::FontRole::Secondary));
    painter.setPen(m_theme.color(QStringLiteral("text.2")));
    painter.drawText(rect().adjusted(16, 4, -16, -12), Qt::AlignCenter | Qt::TextWordWrap, m_data.whyEmpty);
}

double PlotArea::clampedTime(const QPointF &position) const
{
    const QRectF plot = m_layer.plotRect();
    return m_layer.timeAt(std::clamp(position.x(), plot.left(), plot.right()));
}

void PlotArea::mouseMoveEvent(QMouseEvent *event)
{
    const QPointF at = event->position();
    if (m_dragFrom && std::abs(at.x() - *m_dragFrom) >= dragThreshold)
        m_selection = models::TimeWindow{clampedTime({*m_dragFrom, 0}), clampedTime(at)};
    const QRectF plot = m_layer.plotRect();
    const bool isInside = at.x() >= plot.left() - 1 && at.x() <= plot.right() + 1;
    if (m_selection)
        update();
    if (isInside && m_window.length() > 0)
        m_group.setCrossHair(clampedTime(at));
}

void PlotArea::mousePressEvent(QMouseEvent *event)
{
    if (event->button() != Qt::LeftButton)
        return event->ignore();
    parentWidget()->setFocus(Qt::MouseFocusReason);
    m_dragFrom = event->position().x();
}

void PlotArea::mouseReleaseEvent(QMouseEvent *event)
{
    if (event->button() != Qt::LeftButton)
        return event->ignore();
    const std::optional<models::TimeWindow> selection = m_selection;
    m_dragFrom.reset();
    m_selection.reset();
    update();
    if (selection)
        m_group.selectRange(*selection);
}

void PlotArea::mouseDoubleClickEvent(QMouseEvent *event)
{
    if (event->button() == Qt::LeftButton)
        m_group.requestReset();
}

void PlotArea::leaveEvent(QEvent *)
{
    if (!m_dragFrom)
        m_group.setCrossHair(std::nullopt);
}
} // namespace ui
