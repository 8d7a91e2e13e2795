#include "cluster/local/metricsapi/monitoring_client.h"

#include "cluster/kube/resource_path.h"

namespace cluster::local {

namespace {

/// The store may have to be started first.
constexpr std::chrono::seconds queryPatience{25};

ErrorCode codeOf(int status)
{
    switch (status) {
    case 400:
        return ErrorCode::FailedPrecondition;
    case 401:
        return ErrorCode::Unauthenticated;
    case 403:
        return ErrorCode::PermissionDenied;
    case 404:
        return ErrorCode::NotFound;
    case 429:
        return ErrorCode::ResourceExhausted;
    default:
        return ErrorCode::Unavailable;
    }
}

} // namespace

Result<std::string> MonitoringClient::ask(const std::string &project, const std::string &method,
                                          const std::string &name, const std::string &value) const
{
    const auto token = m_token();
    if (!token)
        return tl::unexpected(token.error());
    HttpRequest request;
    request.url = m_url + "/monitoring/v1/projects/" + percentEncoded(project)
        + "/location/global/prometheus/api/v1/" + method + "?" + name + "=" + percentEncoded(value);
    request.headers.push_back({"Authorization", "Bearer " + *token});
    HttpOptions options;
    options.caFile = m_caFile;
    options.deadline = Deadline::after(queryPatience);
    auto answer = m_http.send(request, options);
    if (!answer)
        return tl::unexpected(answer.error());
    if (answer->status >= 400)
        return fail(codeOf(answer->status), errorText(answer->body));
    return std::move(answer->body);
}

Result<std::vector<MetricSample>> MonitoringClient::query(const std::string &project,
                                                          const std::string &promql) const
{
    const auto body = ask(project, "query", "query", promql);
    if (!body)
        return tl::unexpected(body.error());
    return metricSamples(*body);
}

Result<std::vector<std::string>> MonitoringClient::types(const std::string &project,
                                                         const std::string &metric) const
{
    const auto body = ask(project, "metadata", "metric", metric);
    if (!body)
        return tl::unexpected(body.error());
    return metricTypes(*body, metric);
}

} // namespace cluster::local
