#pragma once

namespace ui {
/// Makes MetricChart known to screen readers as a chart whose children are its series with their values.
/// Idempotent.
void installMetricChartAccessible();
} // namespace ui
