#include "ui/pages/chat/painted_icon.h"

#include "ui/theme/theme.h"
#include <QPainter>
#include <QPixmapCache>

namespace ui {

void paintIcon(QPainter &painter, const QRect &rect, const QString &name, const Theme &theme)
{
    const qreal ratio = painter.device()->devicePixelRatioF();
    const QString key = theme.iconPath(name) + QStringLiteral("@%1x%2").arg(rect.width()).arg(ratio);
    QPixmap pixmap;
    if (!QPixmapCache::find(key, &pixmap)) {
        pixmap = theme.icon(name).pixmap(rect.size(), ratio);
        QPixmapCache::insert(key, pixmap);
    }
    painter.drawPixmap(rect, pixmap);
}

} // namespace ui
