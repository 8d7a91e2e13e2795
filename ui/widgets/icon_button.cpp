#include "ui/widgets/icon_button.h"

#include "ui/theme/theme.h"

namespace ui {

IconButton::IconButton(const Theme &theme, const QString &iconName, const QString &name, QWidget *parent)
    : QToolButton(parent), m_theme(theme), m_iconName(iconName)
{
    setProperty("flat", true);
    setProperty("iconOnly", true);
    setIconSize({16, 16});
    setToolTip(name);
    setAccessibleName(name);
    setFocusPolicy(Qt::TabFocus);
    connect(&theme, &Theme::changed, this, &IconButton::updateIcon);
    updateIcon();
}

void IconButton::setIconName(const QString &iconName)
{
    m_iconName = iconName;
    updateIcon();
}

void IconButton::updateIcon()
{
    setIcon(m_theme.icon(m_iconName));
}

} // namespace ui
