#pragma once

#include "cluster/httpd/server_message.h"
#include "cluster/local/metricsapi/api_failure.h"
#include "cluster/local/metricsapi/metric_route.h"

#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster {
class KubeClient;
}

namespace cluster::local {

/// How an API server's front proxy shows whom it speaks for: the ConfigMap
/// kube-system/extension-apiserver-authentication.
struct FrontProxy
{
    std::string caPem; ///< of the proxy's certificate
    std::vector<std::string> allowedNames; ///< common names of it; empty: any
    std::vector<std::string> userHeaders, groupHeaders, extraPrefixes;
};

/// DataLoss: the ConfigMap lacks something, or is of another form.
Result<FrontProxy> frontProxyOf(const nlohmann::json &configMap);

struct RequestUser
{
    std::string name;
    std::vector<std::string> groups;
    std::map<std::string, std::vector<std::string>> extra;
};

/// Whom the front proxy speaks for. Nothing where the request has no certificate of it.
std::optional<RequestUser> proxiedUser(const ServerRequest &request, const FrontProxy &proxy);

/// Who asks, and may he? As aggregated API servers do it by the API server: the front proxy is believed,
/// others show a token (TokenReview) or are anonymous; then a SubjectAccessReview decides. Both are kept for
/// ten seconds. Calls block; any thread.
class RequestReview
{
public:
    /// `client` outlives it; its user needs the ClusterRole system:auth-delegator.
    RequestReview(KubeClient &client, FrontProxy proxy) : m_client(client), m_proxy(std::move(proxy)) {}

    /// Errors: 401 (a token that is none), 403 in Kubernetes' words, 500 (the API server could not be asked).
    /// \param route  Null: the path itself is asked for.
    [[nodiscard]] ApiResult<void> check(const ServerRequest &request, const MetricRoute *route);

private:
    struct Answer
    {
        nlohmann::json status;
        std::chrono::steady_clock::time_point until;
    };
    [[nodiscard]] ApiResult<RequestUser> userOf(const ServerRequest &request);
    /// The status of a review, of a moment ago perhaps.
    [[nodiscard]] ApiResult<nlohmann::json> review(const char *group, const char *plural,
                                                   const nlohmann::json &spec);

    KubeClient &m_client;
    const FrontProxy m_proxy;
    std::mutex m_mutex; ///< guards m_known
    std::map<std::string, Answer> m_known; ///< by the review's text
};

} // namespace cluster::local
