#include "cluster/local/metricsapi/metric_query.h"

#include "cluster/local/metricsapi/series_filter.h"

#include <array>
#include <utility>

namespace cluster::local {

namespace {

std::string selectorText(const PrometheusMetric &metric, const std::vector<std::string> &matchers)
{
    std::string text = "{" + equalMatcher("__name__", {metric.name});
    for (const std::string &matcher : matchers)
        text += "," + matcher;
    return text + "}";
}

} // namespace

std::string seriesQuery(const PrometheusMetric &metric, const std::vector<std::string> &matchers)
{
    const std::string series = selectorText(metric, matchers);
    if (metric.kind == MetricKind::Gauge)
        return "last_over_time(" + series + "[5m])";
    return "rate(" + series + "[1m]) or rate(" + series + "[5m])";
}

std::string reducedQuery(const std::string &reducer, const std::string &query)
{
    static constexpr std::array<std::pair<const char *, const char *>, 10> functions{{
        {"REDUCE_MEAN", "avg("},
        {"REDUCE_MIN", "min("},
        {"REDUCE_MAX", "max("},
        {"REDUCE_SUM", "sum("},
        {"REDUCE_STDDEV", "stddev("},
        {"REDUCE_COUNT", "count("},
        {"REDUCE_PERCENTILE_99", "quantile(0.99, "},
        {"REDUCE_PERCENTILE_95", "quantile(0.95, "},
        {"REDUCE_PERCENTILE_50", "quantile(0.5, "},
        {"REDUCE_PERCENTILE_05", "quantile(0.05, "},
    }};
    for (const auto &[name, function] : functions) {
        if (reducer == name)
            return function + query + ")";
    }
    return {};
}

std::string existenceQuery(const PrometheusMetric &metric, const std::vector<std::string> &matchers)
{
    return "count(last_over_time(" + selectorText(metric, matchers) + "[1d]))";
}

} // namespace cluster::local
