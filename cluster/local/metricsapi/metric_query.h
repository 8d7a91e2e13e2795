#pragma once

#include "cluster/local/metricsapi/metric_type.h"

#include <string>
#include <vector>

namespace cluster::local {

/// PromQL for what the adapter asks Cloud Monitoring for: of each series of the last five minutes the newest
/// sample (ALIGN_NEXT_OLDER), of one that grows its rate per second over a minute (ALIGN_RATE).
///
/// Where scrapes are too rare for two samples in a minute, Google interpolates; here the rate is then taken
/// over five minutes.
std::string seriesQuery(const PrometheusMetric &metric, const std::vector<std::string> &matchers);

/// The same, with all series made one by `reducer` ("REDUCE_SUM"). Empty where that is none for numbers.
std::string reducedQuery(const std::string &reducer, const std::string &query);

/// Whether there was such a metric in the last day.
std::string existenceQuery(const PrometheusMetric &metric, const std::vector<std::string> &matchers);

} // namespace cluster::local
