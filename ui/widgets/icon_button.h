#pragma once

#include <QToolButton>

namespace ui {

class Theme;

/// A flat button with an icon of the theme and nothing else; `name` is its tooltip and its name for screen
/// readers.
class IconButton : public QToolButton
{
    Q_OBJECT

public:
    IconButton(const Theme &theme, const QString &iconName, const QString &name, QWidget *parent = nullptr);

    void setIconName(const QString &iconName);

private:
    void updateIcon();

    const Theme &m_theme;
    QString m_iconName;
};

} // namespace ui
