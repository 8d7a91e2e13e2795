#pragma once

#include "models/metrics/chart_data.h"

#include <QFrame>

class QDateTimeEdit;
class QLabel;

namespace ui {
/// Asks for a window of time, under the "Custom" segment.
class RangePopup : public QFrame
{
    Q_OBJECT

public:
    explicit RangePopup(QWidget *parent = nullptr);
    void openBelow(const QWidget *anchor, const models::TimeWindow &window);

signals:
    void windowChosen(const models::TimeWindow &window);

private:
    void choose();

    QDateTimeEdit *m_from;
    QDateTimeEdit *m_to;
    QLabel *m_error;
};
} // namespace ui
