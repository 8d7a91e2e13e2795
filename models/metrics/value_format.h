#pragma once

#include "models/metrics/chart_data.h"

namespace models {
/// A value as a person reads it: "103", "77%", "379 ms", "4.0 s", "2,473". NaN is "–".
QString valueText(ChartUnit unit, double value);

/// The label of an axis tick, short: "1600", "25%", "6 s", "2.5k". `step` is the distance of two ticks; it
/// decides how many digits are needed. Axes of seconds whose `axisMaximum` is below 2 s are written in ms
/// without unit.
QString tickText(ChartUnit unit, double value, double step, double axisMaximum);

/// The word behind a chart's title where ticks carry no unit ("ms"); empty if there is nothing to say.
QString axisUnitText(ChartUnit unit, double axisMaximum);

/// "2 s", "45 s", "3 min", "2 h", "4 d": how long ago something was. Negative ages count as 0.
QString ageText(double seconds);

/// "5 s", "20 s", "2 min", "1 h": a step between samples.
QString stepText(double seconds);
} // namespace models
