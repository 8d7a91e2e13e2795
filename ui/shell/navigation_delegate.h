#pragma once

#include <QStyledItemDelegate>

namespace ui {

class Theme;

/// A row of the navigation: icon, title, and at the end the state or the shortcut. Compact: the icon alone.
class NavigationDelegate : public QStyledItemDelegate
{
    Q_OBJECT

public:
    enum class Kind { Pages, Targets };

    NavigationDelegate(const Theme &theme, Kind kind, QObject *parent = nullptr);

    void setCompact(bool compact) { m_isCompact = compact; }

    void paint(QPainter *painter, const QStyleOptionViewItem &option,
               const QModelIndex &index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const override;

private:
    void paintBackground(QPainter &painter, const QStyleOptionViewItem &option, bool isChosen) const;
    void paintEnd(QPainter &painter, QRect &room, const QModelIndex &index, Qt::LayoutDirection direction,
                  bool isChosen) const;

    const Theme &m_theme;
    Kind m_kind;
    bool m_isCompact = false;
};

} // namespace ui
