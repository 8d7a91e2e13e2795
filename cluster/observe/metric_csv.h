#pragma once

#include "cluster/observe/time_series.h"
#include <string>
#include <vector>

namespace cluster {

struct CsvColumn
{
    ChartMetric metric = ChartMetric::RequestsRunning;
    std::vector<ChartPoint> points; ///< In order of time.
};

/// RFC 4180 text: a header `time,unix_ms,running,…` and one row for each moment that any column has a point
/// for. Times are ISO 8601 in UTC. A gap, and a metric that has no value at a moment, is an empty field,
/// never 0.
[[nodiscard]] std::string chartCsv(const std::vector<CsvColumn> &columns);

} // namespace cluster
