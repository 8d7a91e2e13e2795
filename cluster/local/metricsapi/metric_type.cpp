#include "cluster/local/metricsapi/metric_type.h"

#include <algorithm>

namespace cluster::local {

namespace {

constexpr std::string_view prefix = "prometheus.googleapis.com/";

bool isSum(std::string_view name)
{
    return name.ends_with("_count") || name.ends_with("_sum");
}

} // namespace

std::string externalMetricType(std::string_view name)
{
    std::string type(name);
    std::replace(type.begin(), type.end(), '|', '/');
    return type;
}

std::string customMetricType(std::string_view name)
{
    if (name.find('|') == std::string_view::npos)
        return "custom.googleapis.com/" + std::string(name);
    return externalMetricType(name);
}

std::optional<PrometheusMetric> prometheusMetric(std::string_view type)
{
    if (!type.starts_with(prefix))
        return std::nullopt;
    type.remove_prefix(prefix.size());
    const std::size_t slash = type.rfind('/');
    if (slash == std::string_view::npos || slash == 0)
        return std::nullopt;
    PrometheusMetric metric;
    metric.name = type.substr(0, slash);
    metric.suffix = type.substr(slash + 1);
    if (metric.suffix == "counter" || metric.suffix.ends_with(":counter"))
        metric.kind = MetricKind::Cumulative;
    else if (metric.suffix == "histogram")
        metric.isDistribution = true;
    else if (metric.suffix == "summary")
        metric.kind = isSum(metric.name) ? MetricKind::Cumulative : MetricKind::Gauge;
    else if (metric.suffix != "gauge" && metric.suffix != "unknown")
        return std::nullopt;
    return metric;
}

bool fitsPrometheusType(const PrometheusMetric &metric, std::string_view prometheusType)
{
    const std::string_view suffix = metric.suffix;
    const std::string_view plain = suffix.substr(0, suffix.find(':'));
    if (prometheusType == "unknown" || prometheusType == "untyped")
        return plain == "unknown";
    if (prometheusType == "info" || prometheusType == "stateset" || prometheusType == "gaugehistogram")
        return plain == "gauge";
    return plain == prometheusType;
}

std::string familyOf(const PrometheusMetric &metric)
{
    const bool isCompound = metric.suffix.starts_with("summary") || metric.isDistribution;
    for (const std::string_view end : {"_count", "_sum", "_bucket"}) {
        if (isCompound && metric.name.ends_with(end))
            return metric.name.substr(0, metric.name.size() - end.size());
    }
    return metric.name;
}

} // namespace cluster::local
