#include "ui/shell/navigation_delegate.h"

#include "ui/shell/navigation_model.h"
#include "ui/theme/theme.h"
#include "ui/widgets/state_label.h"

#include <QPainter>

namespace ui {

namespace {
constexpr int Side = 10;
constexpr int IconSize = 16;
constexpr int SmallIconSize = 14;
constexpr int MarkSize = 13;
} // namespace

NavigationDelegate::NavigationDelegate(const Theme &theme, Kind kind, QObject *parent)
    : QStyledItemDelegate(parent), m_theme(theme), m_kind(kind)
{
}

QSize NavigationDelegate::sizeHint(const QStyleOptionViewItem &, const QModelIndex &) const
{
    const int text = QFontMetrics(m_theme.font(Theme::FontRole::Body)).height();
    return {40, qMax(m_kind == Kind::Pages ? 31 : 26, text + (m_kind == Kind::Pages ? 12 : 8))};
}

void NavigationDelegate::paintBackground(QPainter &painter, const QStyleOptionViewItem &option,
                                         bool isChosen) const
{
    const QRectF box = QRectF(option.rect).adjusted(1, 0.5, -1, -1);
    painter.setPen(Qt::NoPen);
    if (isChosen) {
        painter.setBrush(m_theme.color(m_kind == Kind::Pages ? QStringLiteral("bg.selected")
                                                             : QStringLiteral("bg.raised")));
        painter.drawRoundedRect(box, 4, 4);
    } else if (option.state & QStyle::State_MouseOver) {
        painter.setBrush(m_theme.color(QStringLiteral("bg.hover")));
        painter.drawRoundedRect(box, 4, 4);
    }
    if (option.state & QStyle::State_HasFocus) {
        painter.setPen(QPen(m_theme.color(QStringLiteral("focus")), 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    }
}

void NavigationDelegate::paintEnd(QPainter &painter, QRect &room, const QModelIndex &index,
                                  Qt::LayoutDirection direction, bool isChosen) const
{
    const auto state = static_cast<State>(index.data(StateMarkRole).toInt());
    QRect end = room;
    if (state != State::None) {
        end = QRect(room.right() - MarkSize + 1, room.center().y() - MarkSize / 2, MarkSize, MarkSize);
        paintState(painter, QStyle::visualRect(direction, room, end), state, m_theme);
    } else {
        const QString text = index.data(EndTextRole).toString();
        painter.setFont(m_theme.font(Theme::FontRole::Caption));
        end.setLeft(room.right() - painter.fontMetrics().horizontalAdvance(text));
        // text.3 does not reach 4.5:1 on the selection's background
        painter.setPen(m_theme.color(isChosen ? QStringLiteral("text.2") : QStringLiteral("text.3")));
        painter.drawText(QStyle::visualRect(direction, room, end), int(Qt::AlignVCenter | Qt::AlignRight),
                         text);
    }
    room.setRight(end.left() - 6);
}

void NavigationDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option,
                               const QModelIndex &index) const
{
    const bool isPage = m_kind == Kind::Pages;
    const bool isChosen
        = isPage ? bool(option.state & QStyle::State_Selected) : index.data(IsChosenRole).toBool();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    paintBackground(*painter, option, isChosen);

    const int iconSize = isPage ? IconSize : SmallIconSize;
    QRect room = option.rect.adjusted(Side, 0, -Side, 0);
    QRect icon(room.left(), room.center().y() - iconSize / 2, iconSize, iconSize);
    if (m_isCompact)
        icon.moveLeft(option.rect.center().x() - iconSize / 2 + 1);
    const auto direction = option.direction;
    m_theme.icon(index.data(IconNameRole).toString())
        .paint(painter, QStyle::visualRect(direction, option.rect, icon));
    if (m_isCompact) {
        const auto state = static_cast<State>(index.data(StateMarkRole).toInt());
        if (state != State::None && (state != State::Ok || !isPage))
            paintState(*painter, QRect(icon.right() - 2, icon.top() - 4, 9, 9), state, m_theme);
        painter->restore();
        return;
    }
    room.setLeft(icon.right() + (isPage ? Side : 8));
    paintEnd(*painter, room, index, direction, isChosen);
    QFont font = m_theme.font(isPage ? Theme::FontRole::Body : Theme::FontRole::Secondary);
    if (isPage && isChosen)
        font.setWeight(QFont::Medium);
    painter->setFont(font);
    painter->setPen(m_theme.color(isChosen ? QStringLiteral("text") : QStringLiteral("text.2")));
    const QString title
        = painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideMiddle, room.width());
    painter->drawText(QStyle::visualRect(direction, option.rect, room),
                      int(Qt::AlignVCenter | Qt::AlignLeading), title);
    painter->restore();
}

} // namespace ui
