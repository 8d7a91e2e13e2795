#pragma once

#include <QLabel>

namespace ui {

/// A label for an identifier or a title. Where there is no room, a part is left out: of identifiers the
/// middle (begin and end tell names apart), of titles the end.
class ElidedLabel : public QLabel
{
    Q_OBJECT

public:
    explicit ElidedLabel(Qt::TextElideMode mode = Qt::ElideMiddle, QWidget *parent = nullptr);

    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    Qt::TextElideMode m_mode;
};

} // namespace ui
