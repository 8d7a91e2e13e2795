#pragma once

#include "cluster/observe/time_series.h"
#include "models/metrics/chart_data.h"

#include <optional>
#include <vector>

namespace models {
struct CatalogSeries
{
    cluster::ChartMetric metric;
    const char *name; ///< As in the legend
};

/// What one chart of the metrics page shows.
struct CatalogChart
{
    const char *id; ///< Stable: also the key of a stored objective
    const char *title;
    ChartUnit unit = ChartUnit::Count;
    std::vector<CatalogSeries> series;
    bool isPercentile
        = false; ///< Has values only where requests ended: lone samples are joined more generously
    std::optional<ChartLimit> limit; ///< Always drawn: a warning threshold
};

/// The charts in reading order.
const std::vector<CatalogChart> &chartCatalog();
} // namespace models
