#pragma once

#include "cluster/local/kubelet/kubelet_pages.h"
#include "cluster/local/kubelet/label_selector.h"
#include <nlohmann/json_fwd.hpp>

namespace cluster::local {

/// One metrics.k8s.io/v1beta1 NodeMetrics for each Node that is selected: the sum of its pods. A node without
/// a process has zeros, as an idle one has.
[[nodiscard]] nlohmann::json nodeMetrics(const nlohmann::json &nodes, const std::vector<PodUsage> &usage,
                                         const LabelSelector &selector, PageTime now);

/// One PodMetrics for each pod with a process that is selected; empty `nameSpace`: of all.
[[nodiscard]] nlohmann::json podMetrics(const nlohmann::json &pods, const std::vector<PodUsage> &usage,
                                        const std::string &nameSpace, const LabelSelector &selector,
                                        PageTime now);

/// `items` as a list of that kind ("NodeMetricsList").
[[nodiscard]] nlohmann::json metricsList(const std::string &kind, nlohmann::json items);

/// Discovery: what the aggregator asks for. Aggregated (apidiscovery.k8s.io/v2) and plain forms.
[[nodiscard]] nlohmann::json metricsDiscovery();
[[nodiscard]] nlohmann::json metricsGroupList();
[[nodiscard]] nlohmann::json metricsGroup();
[[nodiscard]] nlohmann::json metricsResources();

/// What registers the API with an apiserver: a Service without selector, its EndpointSlice (`address`, 10.x,
/// and `port`), and the APIService.
[[nodiscard]] nlohmann::json metricsService();
[[nodiscard]] nlohmann::json metricsEndpoints(const std::string &address, std::uint16_t port);
[[nodiscard]] nlohmann::json metricsApiService(const std::string &caPemBase64);

} // namespace cluster::local
