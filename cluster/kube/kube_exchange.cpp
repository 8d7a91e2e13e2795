// How requests go out and come back: credentials, retries, errors.

#include "cluster/kube/kube_call.h"
#include "cluster/kube/pause.h"

#include <charconv>

namespace cluster {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds firstBackoff{100};

std::optional<milliseconds> retryAfterHeader(const HttpResponse &response)
{
    const auto text = response.header("retry-after");
    int seconds = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), seconds).ec != std::errc())
        return std::nullopt;
    return std::chrono::seconds(std::max(0, seconds));
}

/// How long to wait before the same request may be sent again; nothing: not at all.
std::optional<milliseconds> retryWait(const Result<HttpResponse> &answer, bool isRepeatable, int attempt,
                                      milliseconds longest)
{
    const milliseconds backoff = jittered(std::min(longest, firstBackoff * (1 << std::min(attempt, 10))));
    if (!answer) {
        const bool isLost
            = answer.error().code == ErrorCode::Unavailable || answer.error().code == ErrorCode::DataLoss;
        return isLost && isRepeatable ? std::optional(backoff) : std::nullopt;
    }
    const int status = answer->status;
    if (status != 429 && status < 500)
        return std::nullopt;
    if (const auto wait = retryAfterHeader(*answer); wait && (status == 429 || status == 503 || isRepeatable))
        return *wait <= longest ? wait : std::nullopt;
    // Without Retry-After the server may have done the work before it failed.
    return isRepeatable ? std::optional(backoff) : std::nullopt;
}

} // namespace

KubeClient::KubeClient(HttpClient &http, KubeEndpoint endpoint)
    : m_http(http), m_endpoint(std::move(endpoint))
{
    while (m_endpoint.url.ends_with('/'))
        m_endpoint.url.pop_back();
}

KubeClient::~KubeClient() = default;

HttpRequest KubeClient::request(const Call &call) const
{
    HttpRequest request;
    request.method = call.method;
    request.url = m_endpoint.url + call.target;
    request.headers.push_back({"Accept", call.accept});
    request.headers.push_back({"User-Agent", m_endpoint.userAgent});
    if (!m_endpoint.token.empty())
        request.headers.push_back({"Authorization", "Bearer " + m_endpoint.token});
    if (!call.contentType.empty())
        request.headers.push_back({"Content-Type", call.contentType});
    request.body = call.body;
    return request;
}

HttpOptions KubeClient::httpOptions(const KubeCallOptions &options) const
{
    HttpOptions http;
    http.cancel = options.cancel;
    http.deadline = options.deadline;
    http.caFile = m_endpoint.caFile;
    http.clientCertFile = m_endpoint.clientCertFile;
    http.clientKeyFile = m_endpoint.clientKeyFile;
    http.maxBodyBytes = std::size_t{256} << 20;
    return http;
}

Result<HttpResponse> KubeClient::exchange(const Call &call, const KubeCallOptions &options)
{
    const HttpRequest http = request(call);
    const HttpOptions transfer = httpOptions(options);
    for (int attempt = 0;; ++attempt) {
        Result<HttpResponse> answer = m_http.send(http, transfer);
        if (answer && answer->status < 400)
            return answer;
        const auto wait = retryWait(answer, call.isRepeatable, attempt, options.longestRetryWait);
        if (wait && attempt < options.retries && !options.deadline.hasPassed()) {
            if (pauseFor(*wait, options.cancel, options.deadline))
                continue;
            return fail(ErrorCode::Cancelled, call.doing + " was stopped while waiting to try again");
        }
        if (!answer) {
            if (options.failure)
                *options.failure = KubeStatus{};
            return fail(answer.error().code, call.doing + " failed: " + answer.error().message);
        }
        const KubeStatus status = parseKubeStatus(answer->status, answer->body);
        if (options.failure)
            *options.failure = status;
        return tl::unexpected(toError(status, call.doing + " at " + hostOfUrl(m_endpoint.url)));
    }
}

Result<KubeClient::Json> KubeClient::exchangeJson(const Call &call, const KubeCallOptions &options)
{
    const Result<HttpResponse> answer = exchange(call, options);
    if (!answer)
        return tl::unexpected(answer.error());
    Json json = Json::parse(answer->body, nullptr, false);
    if (!json.is_object())
        return fail(ErrorCode::DataLoss,
                    call.doing + " failed: " + hostOfUrl(m_endpoint.url)
                        + " answered something that is no JSON object: check that the address is that of a "
                          "Kubernetes API server");
    return json;
}

Result<HttpResponse> KubeClient::raw(const std::string &method, const std::string &target,
                                     const std::string &body, const std::string &contentType,
                                     const KubeCallOptions &options, const std::string &accept)
{
    Call call;
    call.accept = accept;
    call.method = method;
    call.target = target;
    call.body = body;
    call.contentType = contentType;
    call.isRepeatable = method != "POST" && method != "PATCH";
    call.doing = method + ' ' + target.substr(0, target.find('?'));
    return exchange(call, options);
}

} // namespace cluster
