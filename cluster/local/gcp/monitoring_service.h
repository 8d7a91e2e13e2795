#pragma once

#include "cluster/local/gcp/enabled_apis.h"
#include "cluster/local/gcp/metric_store.h"
#include "cluster/local/gcp/projects.h"

#include <span>
#include <string>

namespace cluster::local {

/// monitoring.googleapis.com, the part of it that is Managed Prometheus's query API:
/// /v1/projects/P/location/global/prometheus/api/v1/{query, query_range, series, labels, label/L/values,
/// metadata}. A real Prometheus answers (GcpContext::metrics); its answers, errors too, are passed through.
class MonitoringService : public GcpService
{
public:
    explicit MonitoringService(GcpContext &context) : m_context(context), m_projects(context), m_apis(context)
    {
    }

    ServerResponse handle(const ServerRequest &request, std::span<const std::string> path) override;

private:
    using Path = std::span<const std::string>;

    GcpContext &m_context;
    Projects m_projects;
    EnabledApis m_apis;
};

} // namespace cluster::local
