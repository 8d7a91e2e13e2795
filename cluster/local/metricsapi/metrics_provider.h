#pragma once

#include "cluster/base/result.h"
#include "cluster/local/metricsapi/api_failure.h"
#include "cluster/local/metricsapi/metric_type.h"
#include "cluster/local/metricsapi/metric_values.h"
#include "cluster/local/metricsapi/series_filter.h"

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cluster::local {

/// Where the adapter runs, as it learns from the metadata server.
struct MetricsCluster
{
    std::string project;
    std::string location;
    std::string name;
};

/// Whom the adapter asks. Calls block; any thread.
struct MetricSources
{
    /// Names of "pods" (in a namespace) or "nodes" (of none) that a label selector chooses.
    std::function<ApiResult<std::vector<std::string>>(const std::string &plural, const std::string &nameSpace,
                                                      const std::string &selector)>
        names;
    /// Whether one of them exists; the API server's words.
    std::function<ApiResult<void>(const std::string &plural, const std::string &nameSpace,
                                  const std::string &name)>
        find;
    std::function<Result<std::vector<MetricSample>>(const std::string &project, const std::string &promql)>
        query; ///< MonitoringClient::query
    std::function<Result<std::vector<std::string>>(const std::string &project, const std::string &metric)>
        types; ///< MonitoringClient::types
    std::function<std::chrono::system_clock::time_point()> now;
    std::function<void(const std::string &)> log; ///< why a metric has no descriptor
};

struct CustomMetricQuestion
{
    std::string version; ///< "v1beta1", "v1beta2"
    std::string nameSpace; ///< empty: of what has none
    std::string resource; ///< "pods", "nodes", "deployments.apps"
    std::string name; ///< "*": all that `selector` chooses
    std::string metric;
    std::string selector; ///< of objects
    std::string metricSelector; ///< of series
};

struct ExternalMetricQuestion
{
    std::string metric;
    std::string selector; ///< of series
};

/// What GKE's Custom Metrics Stackdriver Adapter (0.16.9, new resource model) makes of Cloud Monitoring's
/// metrics, for those that are collected here: of Managed Prometheus. Its errors are in the adapter's words.
/// Source: GoogleCloudPlatform/k8s-stackdriver, custom-metrics-stackdriver-adapter.
class MetricsProvider
{
public:
    MetricsProvider(MetricsCluster cluster, MetricSources sources)
        : m_cluster(std::move(cluster)), m_sources(std::move(sources))
    {
    }

    /// A MetricValueList of custom.metrics.k8s.io. Several series of an object are added up; an object
    /// without any is not in the list, and is 404 where it was asked for by its name.
    [[nodiscard]] ApiResult<nlohmann::json> custom(const CustomMetricQuestion &question) const;
    /// An ExternalMetricValueList of external.metrics.k8s.io/v1beta1, with an item for each series.
    [[nodiscard]] ApiResult<nlohmann::json> external(const ExternalMetricQuestion &question) const;

private:
    using Sums = std::map<std::string, std::int64_t>; ///< by the object's name

    [[nodiscard]] ApiResult<std::vector<std::string>> objects(const CustomMetricQuestion &question) const;
    [[nodiscard]] ApiResult<PrometheusMetric> descriptor(const std::string &project,
                                                         const std::string &type) const;
    [[nodiscard]] Result<bool> isKnown(const std::string &project, const PrometheusMetric &metric) const;
    [[nodiscard]] ApiResult<Sums> sums(const CustomMetricQuestion &question, const PrometheusMetric &metric,
                                       const SeriesFilter &filter,
                                       const std::vector<std::string> &names) const;
    [[nodiscard]] ApiResult<std::vector<MetricSample>> series(const std::string &project,
                                                              const std::string &promql) const;
    [[nodiscard]] nlohmann::json value(const CustomMetricQuestion &question, const std::string &name,
                                       std::int64_t thousandths, const LabelSelector &selector) const;

    MetricsCluster m_cluster;
    MetricSources m_sources;
};

} // namespace cluster::local
