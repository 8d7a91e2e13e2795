#include "ui/charts/chart_overlay.h"

#include "models/metrics/value_format.h"
#include "ui/charts/decimation.h"
#include "ui/charts/plot_layer.h"
#include "ui/theme/theme.h"

#include <QDateTime>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace ui {
namespace {
constexpr int eventIconSize = 13;

QPen dashed(const QColor &color, double on, double off, double width)
{
    QPen pen(color, width);
    pen.setCapStyle(Qt::FlatCap);
    pen.setDashPattern({on / width, off / width});
    return pen;
}

void paintLimit(QPainter &painter, const OverlayContent &content)
{
    if (!content.data.limit || content.data.limit->value > content.layer.axis().maximum)
        return;
    const QRectF plot = content.layer.plotRect();
    const double y = std::round(content.layer.yOf(content.data.limit->value)) + 0.5;
    const QColor color = content.theme.color(QStringLiteral("err"));
    painter.setPen(dashed(color, 7, 4, 1.4));
    painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    painter.setFont(content.theme.font(Theme::FontRole::Caption));
    const QRectF label(plot.left() + 6, y - 16 < plot.top() - 6 ? y + 2 : y - 16, plot.width() - 12, 15);
    const QRectF text
        = painter.boundingRect(label, Qt::AlignLeft | Qt::AlignVCenter, content.data.limit->label);
    painter.fillRect(text.adjusted(-2, 0, 2, 0), content.theme.color(QStringLiteral("bg.panel")));
    painter.setPen(color);
    painter.drawText(label, Qt::AlignLeft | Qt::AlignVCenter, content.data.limit->label);
}

void paintEvents(QPainter &painter, const OverlayContent &content)
{
    const QRectF plot = content.layer.plotRect();
    for (const models::ChartEvent &event : content.events) {
        const double x = std::round(content.layer.xOf(event.time)) + 0.5;
        if (x < plot.left() || x > plot.right())
            continue;
        const bool isLoss = event.kind == models::ChartEvent::Kind::Loss;
        painter.setPen(
            dashed(content.theme.color(isLoss ? QStringLiteral("err") : QStringLiteral("run")), 2, 3, 1.2));
        painter.drawLine(QPointF(x, plot.top() + eventIconSize / 2.0), QPointF(x, plot.bottom()));
        const QIcon icon
            = content.theme.icon(isLoss ? QStringLiteral("state-err") : QStringLiteral("state-run"));
        icon.paint(&painter,
                   QRectF(x - eventIconSize / 2.0, plot.top() - 6, eventIconSize, eventIconSize).toRect());
    }
}

void paintCrossHair(QPainter &painter, const OverlayContent &content, double time)
{
    const QRectF plot = content.layer.plotRect();
    const double x = std::round(content.layer.xOf(time)) + 0.5;
    painter.setPen(QPen(content.theme.color(QStringLiteral("text.2")), 1));
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
    for (std::size_t i = 0; i < content.data.series.size() && i < content.styles.size(); ++i) {
        if (content.styles[i].kind == SeriesKind::Bars)
            continue;
        const double value = valueNear(content.data.series[i].samples, time, content.reach);
        if (std::isnan(value))
            continue;
        painter.setPen(QPen(content.theme.color(QStringLiteral("bg.panel")), 1));
        painter.setBrush(content.theme.color(content.styles[i].colorName));
        painter.drawEllipse(QPointF(x, content.layer.yOf(value)), 3, 3);
    }
    painter.setBrush(Qt::NoBrush);
}

void paintSelection(QPainter &painter, const OverlayContent &content)
{
    const QRectF plot = content.layer.plotRect();
    const double left = std::clamp(content.layer.xOf(content.selection->from), plot.left(), plot.right());
    const double right = std::clamp(content.layer.xOf(content.selection->to), plot.left(), plot.right());
    QColor fill = content.theme.color(QStringLiteral("accent"));
    fill.setAlphaF(0.18F);
    const QRectF range = QRectF(QPointF(left, plot.top()), QPointF(right, plot.bottom())).normalized();
    painter.fillRect(range, fill);
    painter.setPen(QPen(content.theme.color(QStringLiteral("accent")), 1));
    painter.drawLine(range.topLeft(), range.bottomLeft());
    painter.drawLine(range.topRight(), range.bottomRight());
}

void paintTooltip(QPainter &painter, const OverlayContent &content, double time,
                  const models::TimeWindow &window)
{
    const QFont nameFont = content.theme.font(Theme::FontRole::Secondary);
    const QFont valueFont = content.theme.font(Theme::FontRole::Mono);
    QFont headFont = nameFont;
    headFont.setWeight(QFont::DemiBold);
    const QString head = momentText(time, window);
    std::vector<std::pair<QString, QString>> rows;
    double nameWidth = 0;
    double valueWidth = 0;
    for (const models::SeriesData &series : content.data.series) {
        const QString value
            = models::valueText(content.data.unit, valueNear(series.samples, time, content.reach));
        rows.emplace_back(series.name, value);
        nameWidth = std::max(nameWidth, QFontMetricsF(nameFont).horizontalAdvance(series.name));
        valueWidth = std::max(valueWidth, QFontMetricsF(valueFont).horizontalAdvance(value));
    }
    const double rowHeight = QFontMetricsF(nameFont).height() + 2;
    const double width
        = std::max(nameWidth + 10 + valueWidth, QFontMetricsF(headFont).horizontalAdvance(head)) + 18;
    const double height = rowHeight * (static_cast<double>(rows.size()) + 1) + 13;
    const QRectF plot = content.layer.plotRect();
    const double x = content.layer.xOf(time);
    const double left = x + 12 + width > plot.right() + 10 ? x - 12 - width : x + 12;
    const QRectF box(std::max(2.0, left), plot.top() + 4, width, height);
    painter.setPen(QPen(content.theme.color(QStringLiteral("line.control")), 1));
    painter.setBrush(content.theme.color(QStringLiteral("bg.hover")));
    painter.drawRoundedRect(box.translated(0.5, 0.5), 4, 4);
    painter.setBrush(Qt::NoBrush);
    QRectF line(box.left() + 9, box.top() + 6, width - 18, rowHeight);
    painter.setFont(headFont);
    painter.setPen(content.theme.color(QStringLiteral("text")));
    painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, head);
    for (const auto &[name, value] : rows) {
        line.translate(0, rowHeight);
        painter.setFont(nameFont);
        painter.setPen(content.theme.color(QStringLiteral("text.2")));
        painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, name);
        painter.setFont(valueFont);
        painter.setPen(content.theme.color(QStringLiteral("text")));
        painter.drawText(line, Qt::AlignRight | Qt::AlignAbsolute | Qt::AlignVCenter, value);
    }
}
} // namespace

QString momentText(double time, const models::TimeWindow &window)
{
    const QDateTime at = QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(std::round(time * 1000)));
    const bool isLong = window.length() > 86400;
    return at.toString(isLong ? QStringLiteral("d MMM HH:mm") : QStringLiteral("HH:mm:ss"));
}

void paintOverlay(QPainter &painter, const OverlayContent &content)
{
    painter.setRenderHint(QPainter::Antialiasing);
    paintLimit(painter, content);
    paintEvents(painter, content);
    const models::TimeWindow window = content.layer.window();
    const bool isInside
        = content.crossHair && *content.crossHair >= window.from && *content.crossHair <= window.to;
    if (isInside)
        paintCrossHair(painter, content, *content.crossHair);
    if (content.selection)
        paintSelection(painter, content);
    else if (isInside && content.hasTooltip)
        paintTooltip(painter, content, *content.crossHair, window);
}
} // namespace ui
