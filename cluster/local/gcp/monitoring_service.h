#pragma once

#include "cluster/local/gcp/metric_source.h"
#include "cluster/local/gcp/projects.h"
#include "cluster/local/gcp/prometheus_selector.h"
#include "cluster/net/http_client.h"

#include <map>
#include <span>
#include <string>

namespace cluster::local {

/// monitoring.googleapis.com, the part of it that is Managed Prometheus's query API:
/// /v1/projects/P/location/global/prometheus/api/v1/{query, query_range, series, labels, label/L/values,
/// metadata}.
///
/// With GcpContext::prometheusUrl a real Prometheus answers. Without one, plain selectors are answered from
/// GcpContext::metrics, and everything else says what it would take.
class MonitoringService : public GcpService
{
public:
    explicit MonitoringService(GcpContext &context) : m_context(context), m_projects(context) {}

    ServerResponse handle(const ServerRequest &request, std::span<const std::string> path) override;

private:
    using Path = std::span<const std::string>;
    using Parameters = std::multimap<std::string, std::string>;

    ServerResponse forward(const ServerRequest &request, Path path) const;
    Result<nlohmann::json> answer(const Parameters &parameters, Path path) const;
    Result<nlohmann::json> query(const Parameters &parameters) const;
    Result<nlohmann::json> queryRange(const Parameters &parameters) const;
    Result<std::vector<MetricSeries>> matching(const Parameters &parameters) const;
    [[nodiscard]] std::vector<MetricSeries> select(const PrometheusSelector &selector, MetricTime from,
                                                   MetricTime to) const;
    Result<MetricTime> timeOf(const Parameters &parameters, const std::string &name,
                              MetricTime otherwise) const;

    GcpContext &m_context;
    Projects m_projects;
    mutable HttpClient m_client;
};

} // namespace cluster::local
