#pragma once

#include "models/metrics/chart_data.h"
#include "ui/charts/chart_style.h"

#include <QRectF>

#include <optional>
#include <vector>

class QPainter;

namespace ui {
class PlotLayer;
class Theme;

/// Everything that the overlay of one chart draws from. References live as long as the call.
struct OverlayContent
{
    const Theme &theme;
    const PlotLayer &layer;
    const models::ChartData &data;
    const std::vector<SeriesStyle> &styles;
    const std::vector<models::ChartEvent> &events;
    double reach = 0; ///< seconds: how far from the cross-hair a sample may lie
    std::optional<double> crossHair = {}; ///< seconds since the epoch
    std::optional<models::TimeWindow> selection = {}; ///< being dragged
    bool hasTooltip = false; ///< this chart is the one that is pointed at or has the keyboard
};

/// Limit and event lines, the cross-hair with a dot on each series, the range being dragged, the tooltip:
/// what changes without new data, painted over the chart's picture.
void paintOverlay(QPainter &painter, const OverlayContent &content);

/// "14:09:12", or with the day where the window is longer than one.
QString momentText(double time, const models::TimeWindow &window);
} // namespace ui
