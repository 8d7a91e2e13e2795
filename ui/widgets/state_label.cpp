#include "ui/widgets/state_label.h"

#include "ui/theme/theme.h"

#include <QIcon>
#include <QPainter>
#include <QStyle>
#include <QTimerEvent>

namespace ui {

namespace {

constexpr int IconSize = 13;
constexpr int Gap = 7;
constexpr qint64 TurnMs = 1200;
constexpr int FrameMs = 50;

void paintRing(QPainter &painter, const QRectF &rect, const Theme &theme, qreal turn)
{
    const qreal stroke = rect.width() * 0.15;
    const QRectF ring = rect.adjusted(stroke, stroke, -stroke, -stroke);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.color(QStringLiteral("line.control")), stroke));
    painter.drawEllipse(ring);
    painter.setPen(QPen(theme.color(QStringLiteral("run")), stroke * 1.1, Qt::SolidLine, Qt::RoundCap));
    painter.drawArc(ring, int((90 - turn * 360) * 16), -250 * 16);
}

} // namespace

void paintState(QPainter &painter, const QRect &rect, State state, const Theme &theme, qreal turn)
{
    if (state == State::None)
        return;
    if (state != State::Run) {
        theme.icon(stateIconName(state)).paint(&painter, rect);
        return;
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    paintRing(painter, rect, theme, turn);
    painter.restore();
}

StateLabel::StateLabel(const Theme &theme, QWidget *parent) : QWidget(parent), m_theme(theme)
{
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    connect(&theme, &Theme::changed, this, [this] {
        updateGeometry();
        update();
    });
}

void StateLabel::setState(State state, const QString &word, const QString &detail)
{
    const QString shown = word.isEmpty() ? stateWord(state) : word;
    if (state == m_state && shown == m_word && detail == m_detail)
        return;
    m_state = state;
    m_word = shown;
    m_detail = detail;
    updateTexts();
    updateTimer();
    updateGeometry();
    update();
}

void StateLabel::setWordVisible(bool visible)
{
    m_wordVisible = visible;
    updateTexts();
    updateGeometry();
    update();
}

void StateLabel::updateTexts()
{
    setAccessibleName(m_word);
    setAccessibleDescription(m_detail);
    setToolTip(m_detail.isEmpty() && !m_wordVisible ? m_word : m_detail);
}

QSize StateLabel::sizeHint() const
{
    const bool hasIcon = m_state != State::None;
    const bool hasWord = m_wordVisible && !m_word.isEmpty();
    const int width = (hasIcon ? IconSize : 0) + (hasIcon && hasWord ? Gap : 0)
        + (hasWord ? fontMetrics().horizontalAdvance(m_word) + 1 : 0);
    return {width, qMax(IconSize + 3, fontMetrics().height())};
}

QSize StateLabel::minimumSizeHint() const
{
    return {m_state == State::None ? 0 : IconSize, sizeHint().height()};
}

void StateLabel::paintEvent(QPaintEvent *)
{
    QPainter painter(this);
    int left = 0;
    if (m_state != State::None) {
        const QRect icon(0, (height() - IconSize) / 2, IconSize, IconSize);
        const qreal turn = m_timer.isActive() ? qreal(m_clock.elapsed() % TurnMs) / TurnMs : 0;
        paintState(painter, QStyle::visualRect(layoutDirection(), rect(), icon), m_state, m_theme, turn);
        left = IconSize + Gap;
    }
    if (!m_wordVisible || m_word.isEmpty())
        return;
    const QRect text = QStyle::visualRect(layoutDirection(), rect(), rect().adjusted(left, 0, 0, 0));
    painter.setPen(palette().color(foregroundRole()));
    painter.drawText(text, int(Qt::AlignVCenter | Qt::AlignLeading | Qt::TextSingleLine),
                     fontMetrics().elidedText(m_word, Qt::ElideRight, text.width()));
}

void StateLabel::timerEvent(QTimerEvent *event)
{
    if (event->timerId() == m_timer.timerId())
        update(0, 0, IconSize + Gap, height());
    else
        QWidget::timerEvent(event);
}

void StateLabel::updateTimer()
{
    const bool animations = style()->styleHint(QStyle::SH_Widget_Animation_Duration, nullptr, this) > 0;
    if (m_state != State::Run || !isVisible() || !animations) {
        m_timer.stop();
    } else if (!m_timer.isActive()) {
        m_clock.start();
        m_timer.start(FrameMs, this);
    }
}

void StateLabel::showEvent(QShowEvent *event)
{
    QWidget::showEvent(event);
    updateTimer();
}

void StateLabel::hideEvent(QHideEvent *event)
{
    QWidget::hideEvent(event);
    updateTimer();
}

} // namespace ui
