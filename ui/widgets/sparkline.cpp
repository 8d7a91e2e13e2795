#include "ui/widgets/sparkline.h"

#include "ui/theme/theme.h"

#include <QPainter>
#include <cmath>

namespace ui {

Sparkline::Sparkline(const Theme &theme, const QString &colorName, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_colorName(colorName)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&theme, &Theme::changed, this, qOverload<>(&QWidget::update));
}

void Sparkline::setLimit(int limit)
{
    m_limit = qMax(2, limit);
    setValues(m_values);
}

void Sparkline::setValues(const QList<double> &values)
{
    m_values = values.size() > m_limit ? values.last(m_limit) : values;
    update();
}

void Sparkline::append(double value)
{
    if (m_values.size() >= m_limit)
        m_values.removeFirst();
    m_values.append(value);
    update();
}

void Sparkline::clear()
{
    m_values.clear();
    update();
}

void Sparkline::paintEvent(QPaintEvent *)
{
    double top = 0;
    for (const double value : m_values)
        if (std::isfinite(value))
            top = qMax(top, value);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor color = m_theme.color(m_colorName);
    painter.setPen(QPen(m_theme.color(QStringLiteral("line")), 1));
    painter.drawLine(QPointF(0, height() - 0.5), QPointF(width(), height() - 0.5));
    if (m_values.size() < 2 || top <= 0)
        return;
    const double step = double(width()) / double(m_values.size() - 1);
    QPolygonF run;
    const auto drawRun = [&] {
        if (run.size() > 1) {
            QPolygonF area = run;
            area << QPointF(run.last().x(), height()) << QPointF(run.first().x(), height());
            QColor fill = color;
            fill.setAlphaF(0.18F);
            painter.setPen(Qt::NoPen);
            painter.setBrush(fill);
            painter.drawPolygon(area);
            painter.setPen(QPen(color, 1.4));
            painter.drawPolyline(run);
        }
        run.clear();
    };
    for (qsizetype i = 0; i < m_values.size(); ++i) {
        if (std::isfinite(m_values[i]))
            run << QPointF(double(i) * step, height() - 1 - m_values[i] / top * (height() - 3));
        else
            drawRun();
    }
    drawRun();
}

} // namespace ui
