#include "ui/charts/chart_group.h"

#include <utility>

namespace ui {
void ChartGroup::setCrossHair(std::optional<double> time)
{
    if (m_crossHair == time)
        return;
    m_crossHair = time;
    emit crossHairChanged();
}

void ChartGroup::selectRange(models::TimeWindow window)
{
    if (window.from > window.to)
        std::swap(window.from, window.to);
    if (window.length() >= 1)
        emit rangeSelected(window);
}
} // namespace ui
