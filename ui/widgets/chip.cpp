#include "ui/widgets/chip.h"

#include "ui/theme/theme.h"
#include "ui/widgets/state_label.h"

#include <QPainter>
#include <QStyle>

namespace ui {

namespace {
constexpr int IconSize = 12;
constexpr int Side = 8;
constexpr int Gap = 6;
} // namespace

Chip::Chip(const Theme &theme, QWidget *parent) : QWidget(parent), m_theme(theme)
{
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    connect(&theme, &Theme::changed, this, [this] {
        updateGeometry();
        update();
    });
}

void Chip::setText(const QString &text)
{
    m_text = text;
    setAccessibleName(text);
    updateGeometry();
    update();
}

void Chip::setState(State state)
{
    m_state = state;
    setAccessibleDescription(stateWord(state));
    updateGeometry();
    update();
}

QSize Chip::sizeHint() const
{
    const QFontMetrics metrics(m_theme.font(Theme::FontRole::Secondary));
    const int icon = m_state == State::None ? 0 : IconSize + Gap;
    return {2 * Side + icon + metrics.horizontalAdvance(m_text), qMax(20, metrics.height() + 4)};
}

void Chip::paintEvent(QPaintEvent *)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QString own = stateColorName(m_state) + QStringLiteral(".bg");
    painter.setPen(Qt::NoPen);
    painter.setBrush(m_theme.color(m_theme.hasColor(own) ? own : QStringLiteral("wait.bg")));
    painter.drawRoundedRect(rect(), 10, 10);
    int left = Side;
    if (m_state != State::None) {
        const QRect icon(Side, (height() - IconSize) / 2, IconSize, IconSize);
        paintState(painter, QStyle::visualRect(layoutDirection(), rect(), icon), m_state, m_theme);
        left += IconSize + Gap;
    }
    painter.setFont(m_theme.font(Theme::FontRole::Secondary));
    painter.setPen(m_theme.color(QStringLiteral("text")));
    const QRect text = QStyle::visualRect(layoutDirection(), rect(), rect().adjusted(left, 0, -Side, 0));
    painter.drawText(text, int(Qt::AlignVCenter | Qt::AlignLeading), m_text);
}

} // namespace ui
