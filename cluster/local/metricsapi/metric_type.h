#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cluster::local {

/// How Cloud Monitoring keeps a metric: as it is, or as a sum that grows, of which the adapter shows the
/// rate.
enum class MetricKind { Gauge, Cumulative };

/// A metric of Managed Prometheus by its Cloud Monitoring type, `prometheus.googleapis.com/NAME/SUFFIX`.
struct PrometheusMetric
{
    std::string name; ///< of the series: "vllm:num_requests_waiting"
    std::string suffix; ///< "gauge", "counter", "histogram", "summary", "summary:counter", "unknown", …
    MetricKind kind = MetricKind::Gauge;
    bool isDistribution = false; ///< a histogram: no number
};

/// The Cloud Monitoring type that a name in the custom (or external) metrics API stands for: `|` is a slash,
/// and a custom metric's name without one is below custom.googleapis.com.
std::string customMetricType(std::string_view name);
std::string externalMetricType(std::string_view name);

/// Nothing for a type that Managed Prometheus doesn't make.
std::optional<PrometheusMetric> prometheusMetric(std::string_view type);

/// Whether Prometheus's metadata of a type ("gauge", "counter", "histogram", "summary", "unknown") make a
/// metric with this suffix. Untyped ones are kept twice, as gauge and as counter.
bool fitsPrometheusType(const PrometheusMetric &metric, std::string_view prometheusType);

/// The name under which Prometheus keeps metadata: of a histogram or summary without `_count`, `_sum`,
/// `_bucket`.
std::string familyOf(const PrometheusMetric &metric);

} // namespace cluster::local
