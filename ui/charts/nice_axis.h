#pragma once

#include "models/metrics/chart_data.h"

#include <vector>

namespace ui {
/// A value axis that starts at 0 and ends on a tick.
struct NiceAxis
{
    double maximum = 1;
    double step = 0.25; ///< distance of two ticks; maximum is a multiple of it

    friend bool operator==(const NiceAxis &, const NiceAxis &) = default;
};

/// The smallest axis of 3 to 5 steps of 1, 2, 2.5 or 5 times a power of ten that leaves 4% above `greatest`.
/// Ratios end at 100%, counts have whole steps. Without a positive finite value: 0 to 4 (ratios 100%).
NiceAxis niceAxis(models::ChartUnit unit, double greatest);

/// The axis to show next. It grows as soon as `greatest` does not fit, and shrinks only when half of it would
/// do: a value that swings around a limit does not make the axis jump at each update.
NiceAxis nextAxis(models::ChartUnit unit, const NiceAxis &current, double greatest);

/// Round clock times inside the window, at most `atMost` of them. `utcOffset` in seconds makes them round
/// where the reader is, not in Greenwich.
struct TimeTicks
{
    std::vector<double> times; ///< seconds since the epoch
    double step = 0; ///< seconds
};
TimeTicks timeTicks(const models::TimeWindow &window, int atMost, double utcOffset);
} // namespace ui
