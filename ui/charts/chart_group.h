#pragma once

#include "models/metrics/chart_data.h"

#include <QObject>

#include <optional>

namespace ui {
/// What the charts of a page share: one cross-hair, and what a drag or double click asks for.
class ChartGroup : public QObject
{
    Q_OBJECT

public:
    explicit ChartGroup(QObject *parent = nullptr) : QObject(parent) {}

    /// Seconds since the epoch; none while no chart is pointed at.
    [[nodiscard]] std::optional<double> crossHair() const { return m_crossHair; }
    void setCrossHair(std::optional<double> time);
    /// A range was dragged. Ignored if it is shorter than a second.
    void selectRange(models::TimeWindow window);
    void requestReset() { emit resetRequested(); }

signals:
    void crossHairChanged();
    void rangeSelected(const models::TimeWindow &window);
    void resetRequested();

private:
    std::optional<double> m_crossHair;
};
} // namespace ui
