#include "ui/pages/chat/rule.h"

#include "ui/theme/theme.h"
#include <QPainter>

namespace ui {

Rule::Rule(const Theme &theme, QWidget *parent) : QWidget(parent), m_theme(theme)
{
    setFixedHeight(1);
    connect(&theme, &Theme::changed, this, [this] { update(); });
}

void Rule::paintEvent(QPaintEvent *)
{
    QPainter(this).fillRect(rect(), m_theme.color(QStringLiteral("line")));
}

} // namespace ui
