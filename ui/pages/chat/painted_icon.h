#pragma once

#include <QRect>
#include <QString>

class QPainter;

namespace ui {

class Theme;

/// Draws an icon of the theme from Qt's pixmap cache: a page that repaints 30 times a second must not read
/// SVG files.
void paintIcon(QPainter &painter, const QRect &rect, const QString &name, const Theme &theme);

} // namespace ui
