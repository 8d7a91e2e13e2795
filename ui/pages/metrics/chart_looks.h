#pragma once

#include "ui/charts/chart_style.h"

#include <QString>

#include <vector>

namespace ui {
/// How the series of a chart of the metrics page are drawn, in the order of its data; plain lines for an id
/// that is not known here.
std::vector<SeriesStyle> chartLook(const QString &chartId, std::size_t seriesCount);
} // namespace ui
