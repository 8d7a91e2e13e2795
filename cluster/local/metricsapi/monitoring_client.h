#pragma once

#include "cluster/local/metricsapi/metric_values.h"
#include "cluster/net/http_client.h"

#include <functional>
#include <string>
#include <vector>

namespace cluster::local {

/// The metrics of Google Cloud, asked at Managed Prometheus's query address of Cloud Monitoring. Calls block;
/// any thread. Errors: PermissionDenied and others with Google's words, DataLoss, Unavailable.
class MonitoringClient
{
public:
    /// An OAuth token for each call.
    using TokenSource = std::function<Result<std::string>()>;

    /// \param url  Of Google's side: "https://127.0.0.1:PORT". `http` outlives it.
    MonitoringClient(HttpClient &http, std::string url, std::string caFile, TokenSource token)
        : m_http(http), m_url(std::move(url)), m_caFile(std::move(caFile)), m_token(std::move(token))
    {
    }

    /// The newest values of PromQL.
    [[nodiscard]] Result<std::vector<MetricSample>> query(const std::string &project,
                                                          const std::string &promql) const;
    /// As what its scrapes declare it.
    [[nodiscard]] Result<std::vector<std::string>> types(const std::string &project,
                                                         const std::string &metric) const;

private:
    [[nodiscard]] Result<std::string> ask(const std::string &project, const std::string &method,
                                          const std::string &name, const std::string &value) const;

    HttpClient &m_http;
    std::string m_url, m_caFile;
    TokenSource m_token;
};

} // namespace cluster::local
