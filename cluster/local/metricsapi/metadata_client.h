#pragma once

#include "cluster/base/result.h"
#include "cluster/local/metricsapi/metrics_provider.h"
#include "cluster/net/http_client.h"

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

namespace cluster::local {

/// An OAuth token as the metadata server gives it.
struct MetadataToken
{
    std::string text;
    std::chrono::seconds lifetime{0};
};

/// {"access_token": …, "expires_in": …, "token_type": "Bearer"}; DataLoss: it is of another form.
Result<MetadataToken> parseMetadataToken(std::string_view body);

/// The metadata server, as Google's libraries ask it. Calls block; any thread.
class MetadataClient
{
public:
    /// \param host  $GCE_METADATA_HOST: "127.140.0.17", perhaps with a port. `http` outlives it.
    MetadataClient(HttpClient &http, std::string host) : m_http(http), m_host(std::move(host)) {}

    /// Project, location and name of the cluster.
    [[nodiscard]] Result<MetricsCluster> cluster() const;
    /// Of the pod's account; the same until shortly before its end. PermissionDenied and others: the metadata
    /// server's words.
    [[nodiscard]] Result<std::string> token();

private:
    [[nodiscard]] Result<std::string> read(const std::string &path) const;

    HttpClient &m_http;
    std::string m_host;
    std::mutex m_mutex; ///< guards the next two
    std::string m_token;
    std::chrono::steady_clock::time_point m_renewAt;
};

} // namespace cluster::local
