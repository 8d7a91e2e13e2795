#pragma once

#include "models/metrics/chart_data.h"

#include <QList>
#include <QPointF>

#include <span>
#include <vector>

namespace ui {
/// A stretch of a series without a gap. x: seconds before the window's end (so <= 0 inside the window), y:
/// value.
using ChartRun = QList<QPointF>;

/// Reduces `samples` to what a plot of `columns` pixels can show: the least and the greatest of each pixel
/// column, in the order of their times, and the first and last sample of each run. A NaN value, or a distance
/// above `longestStep` seconds (0: any distance is fine), ends a run: nothing is drawn across it. One sample
/// on either side of the window is kept, so that lines reach the plot's edges. Columns lie on multiples of
/// their width since the epoch: a window that moves does not make the line shimmer.
std::vector<ChartRun> decimate(std::span<const models::Sample> samples, const models::TimeWindow &window,
                               int columns, double longestStep);

/// The corners of a line that holds each value until the next one.
ChartRun stepped(const ChartRun &run);

/// The value nearest to `time` that is at most `reach` seconds away; NaN if there is none.
double valueNear(std::span<const models::Sample> samples, double time, double reach);
} // namespace ui
