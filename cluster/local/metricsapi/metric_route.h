#pragma once

#include "cluster/httpd/server_message.h"
#include "cluster/local/metricsapi/metrics_provider.h"

#include <optional>
#include <string>

namespace cluster::local {

/// What a request to the adapter is for, as Kubernetes takes paths apart.
struct MetricRoute
{
    std::optional<CustomMetricQuestion> custom;
    std::optional<ExternalMetricQuestion> external;

    // For the question whether the user may do that.
    std::string group, version, verb; ///< "get"; "list" of what has no name
    std::string nameSpace, resource, name, subresource;
};

/// Nothing for a path that is no metric's:
/// custom.metrics.k8s.io/V/namespaces/NS/RESOURCE/NAME/METRIC, …/V/RESOURCE/NAME/METRIC,
/// …/V/namespaces/NS/metrics/METRIC and external.metrics.k8s.io/v1beta1/namespaces/NS/METRIC, below /apis.
std::optional<MetricRoute> metricRoute(const ServerRequest &request);

} // namespace cluster::local
