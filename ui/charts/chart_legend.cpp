#include "ui/charts/chart_legend.h"

#include "ui/theme/theme.h"

#include <QFontMetricsF>
#include <QPainter>

namespace ui {
namespace {
constexpr double sampleWidth = 18;
constexpr double keyGap = 12;

void paintLineSample(QPainter &painter, const SeriesStyle &style, const QColor &color, const QRectF &box)
{
    if (style.kind == SeriesKind::Bars) {
        painter.fillRect(QRectF(box.left(), box.center().y() - 1.5, box.width(), 4), color);
        return;
    }
    QPen pen(color, 2);
    pen.setCapStyle(Qt::FlatCap);
    QList<qreal> pattern;
    for (const double length : dashPixels(style.dash))
        pattern.append(length / 2);
    if (!pattern.isEmpty())
        pen.setDashPattern(pattern);
    painter.setPen(pen);
    painter.drawLine(QPointF(box.left(), box.center().y() + 0.5),
                     QPointF(box.right(), box.center().y() + 0.5));
}
} // namespace

ChartLegend::ChartLegend(const Theme &theme, QWidget *parent) : QWidget(parent), m_theme(theme)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void ChartLegend::setKeys(std::vector<Key> keys, const QString &note)
{
    if (keys == m_keys && note == m_note)
        return;
    m_keys = std::move(keys);
    m_note = note;
    update();
}

QSize ChartLegend::sizeHint() const
{
    return {120, std::max(18, QFontMetrics(m_theme.font(Theme::FontRole::Secondary)).height() + 4)};
}

void ChartLegend::paintEvent(QPaintEvent *)
{
    QPainter painter(this);
    const QFont nameFont = m_theme.font(Theme::FontRole::Secondary);
    const QFont valueFont = m_theme.font(Theme::FontRole::Mono);
    const QFontMetricsF nameMetrics(nameFont);
    const QFontMetricsF valueMetrics(valueFont);
    double x = 0;
    const auto text
        = [&](const QFont &font, const QFontMetricsF &metrics, const QString &word, const char *color) {
              const double advance = metrics.horizontalAdvance(word);
              painter.setFont(font);
              painter.setPen(m_theme.color(QLatin1String(color)));
              painter.drawText(QRectF(x, 0, advance + 2, height()), Qt::AlignLeft | Qt::AlignVCenter, word);
              x += advance;
          };
    for (const Key &key : m_keys) {
        const double nameAdvance = nameMetrics.horizontalAdvance(key.name);
        if (x + sampleWidth + 5 + nameAdvance > width())
            break;
        paintLineSample(painter, key.style, m_theme.color(key.style.colorName),
                        QRectF(x, 0, sampleWidth, height()));
        x += sampleWidth + 5;
        text(nameFont, nameMetrics, key.name, "text.2");
        if (!key.value.isEmpty() && x + 7 + valueMetrics.horizontalAdvance(key.value) <= width()) {
            x += 7;
            text(valueFont, valueMetrics, key.value, "text");
        }
        x += keyGap;
    }
    if (!m_note.isEmpty() && x + nameMetrics.horizontalAdvance(m_note) <= width())
        text(nameFont, nameMetrics, m_note, "text.3");
}
} // namespace ui
