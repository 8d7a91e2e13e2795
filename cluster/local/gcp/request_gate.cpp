#include "cluster/local/gcp/request_gate.h"

#include <openssl/crypto.h>

namespace cluster::local {

namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr std::string_view kOwnService = "slipway"; // the faults on order

GoogleError unauthenticated(const std::string &message, const std::string &reason)
{
    nlohmann::json info{{"@type", "type.googleapis.com/google.rpc.ErrorInfo"},
                        {"reason", reason},
                        {"domain", "googleapis.com"}};
    return {ErrorCode::Unauthenticated, message, nlohmann::json::array({std::move(info)}), 0};
}

constexpr const char *kWrongToken
    = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other "
      "valid authentication credential. See "
      "https://developers.google.com/identity/sign-in/web/devconsole-project.";
constexpr const char *kNoToken
    = "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or "
      "other valid authentication credential. See "
      "https://developers.google.com/identity/sign-in/web/devconsole-project.";

} // namespace

std::string locationOfPath(const std::vector<std::string> &segments)
{
    for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
        if (segments[i] == "locations" || segments[i] == "zones" || segments[i] == "regions")
            return segments[i + 1];
    }
    return {};
}

std::optional<GoogleError> RequestGate::checkToken(const ServerRequest &request, const FaultContext &context)
{
    const auto header = request.header("authorization");
    if (!header || header->empty())
        return unauthenticated(kNoToken, "CREDENTIALS_MISSING");
    if (!header->starts_with(kBearer))
        return unauthenticated(kWrongToken, "ACCESS_TOKEN_TYPE_UNSUPPORTED");
    if (!hasToken(request) && !callerOf(request))
        return unauthenticated(kWrongToken, "ACCESS_TOKEN_EXPIRED");
    if (context.service != kOwnService && m_faults.strike(FaultKind::TokenExpiry, context))
        return unauthenticated(kWrongToken, "ACCESS_TOKEN_EXPIRED");
    return std::nullopt;
}

bool RequestGate::hasToken(const ServerRequest &request) const
{
    const std::string wanted = std::string(kBearer) + m_token;
    const auto given = request.header("authorization");
    return given && given->size() == wanted.size()
        && CRYPTO_memcmp(given->data(), wanted.data(), wanted.size()) == 0;
}

std::optional<Caller> RequestGate::callerOf(const ServerRequest &request) const
{
    const std::string_view given = request.header("authorization").value_or("");
    if (!given.starts_with(kBearer))
        return std::nullopt;
    return m_tokens.find(std::string(given.substr(kBearer.size())), m_now());
}

RequestGate::Verdict RequestGate::judge(const ServerRequest &request, const std::string &service)
{
    FaultContext context;
    context.service = service;
    context.method = request.method;
    context.path = request.path;
    context.location = locationOfPath(request.segments);
    Verdict verdict;
    verdict.refusal = checkToken(request, context);
    verdict.caller = callerOf(request);
    // Whoever orders faults must be able to take them back.
    if (verdict.refusal || service == kOwnService)
        return verdict;
    if (const auto latency = m_faults.strike(FaultKind::Latency, context))
        verdict.delay = latency->latency;
    if (const auto limit = m_faults.strike(FaultKind::RateLimit, context)) {
        const std::string words
            = "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute' of "
              "service '"
            + service + ".googleapis.com'.";
        verdict.refusal
            = GoogleError{ErrorCode::ResourceExhausted, limit->message.empty() ? words : limit->message,
                          nlohmann::json::array({{{"@type", "type.googleapis.com/google.rpc.ErrorInfo"},
                                                  {"reason", "RATE_LIMIT_EXCEEDED"},
                                                  {"domain", "googleapis.com"}}}),
                          0};
    } else if (const auto gone = m_faults.strike(FaultKind::Unavailable, context)) {
        verdict.refusal
            = GoogleError{ErrorCode::Unavailable,
                          gone->message.empty() ? "The service is currently unavailable." : gone->message,
                          nlohmann::json::array(), 0};
    }
    return verdict;
}

} // namespace cluster::local
