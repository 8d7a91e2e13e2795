#include "ui/widgets/elided_label.h"

#include <QPainter>

namespace ui {

namespace {
constexpr int FewestCharacters = 6;
}

ElidedLabel::ElidedLabel(Qt::TextElideMode mode, QWidget *parent) : QLabel(parent), m_mode(mode) {}

QSize ElidedLabel::minimumSizeHint() const
{
    return {fontMetrics().averageCharWidth() * FewestCharacters, QLabel::minimumSizeHint().height()};
}

void ElidedLabel::paintEvent(QPaintEvent *)
{
    QPainter painter(this);
    painter.setPen(palette().color(foregroundRole()));
    painter.drawText(contentsRect(), int(alignment()),
                     fontMetrics().elidedText(text(), m_mode, contentsRect().width()));
}

} // namespace ui
