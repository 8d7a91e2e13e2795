#include "engine/serving/access_policy.h"

#include <algorithm>

namespace engine {

bool constantTimeEquals(std::string_view a, std::string_view b)
{
    std::size_t difference = a.size() ^ b.size();
    for (std::size_t i = 0; i < a.size(); ++i) {
        const char other = b.empty() ? '\0' : b[i % b.size()];
        difference |= static_cast<std::size_t>(static_cast<unsigned char>(a[i] ^ other));
    }
    return difference == 0;
}

ApiKeyGuard::ApiKeyGuard(const ServerOptions &options)
    : m_keys(options.apiKeys), m_dialect(dialectOf(options.dialect))
{
}

bool ApiKeyGuard::isProtected(std::string_view path) const
{
    if (path.starts_with("/v1"))
        return true;
    return !m_dialect.isOld()
        && (path.starts_with("/v2") || path.starts_with("/inference") || path.starts_with("/cohere"));
}

bool ApiKeyGuard::isValid(std::string_view authorization) const
{
    const auto space = authorization.find(' ');
    if (space == std::string_view::npos)
        return false;
    const std::string_view scheme = authorization.substr(0, space);
    const bool bearer = m_dialect.isOld() ? scheme == "Bearer" : equalsIgnoringCase(scheme, "Bearer");
    const std::string_view given = authorization.substr(space + 1);
    bool found = false;
    for (const std::string &key : m_keys) // all of them, so that the time does not tell which
        found |= constantTimeEquals(given, key);
    return bearer && found;
}

std::optional<HttpResponse> ApiKeyGuard::check(const HttpRequest &request, std::string_view path) const
{
    if (m_keys.empty() || request.method == "OPTIONS" || !isProtected(path)
        || isValid(request.header("authorization")))
        return std::nullopt;
    return HttpResponse{401, {{"content-type", "application/json"}}, R"({"error":"Unauthorized"})"};
}

CorsPolicy::CorsPolicy(const ServerOptions &options)
    : m_dialect(dialectOf(options.dialect)), m_origins(options.allowedOrigins),
      m_allOrigins(options.allowedOrigins.empty() && m_dialect.isOld()), m_methods(options.allowedMethods),
      m_headers(options.allowedHeaders), m_credentials(options.allowCredentials)
{
    if (std::find(m_origins.begin(), m_origins.end(), "*") != m_origins.end())
        m_allOrigins = true;
    if (m_methods == "*")
        m_methods = std::string(m_dialect.preflightMethods);
}

bool CorsPolicy::allows(std::string_view origin) const
{
    return m_allOrigins || std::find(m_origins.begin(), m_origins.end(), origin) != m_origins.end();
}

std::optional<HttpResponse> CorsPolicy::preflight(const HttpRequest &request) const
{
    const std::string_view origin = request.header("origin");
    if (request.method != "OPTIONS" || origin.empty()
        || request.header("access-control-request-method").empty())
        return std::nullopt;
    const bool allowed = allows(origin);
    HttpResponse answer;
    answer.status = allowed ? 200 : 400;
    answer.body = allowed ? "OK" : "Disallowed CORS origin";
    if (allowed)
        answer.headers.emplace_back("access-control-allow-origin", m_allOrigins ? "*" : std::string(origin));
    if (!m_allOrigins) {
        answer.headers.emplace_back("vary",
                                    "Origin, Access-Control-Request-Method, Access-Control-Request-Headers, "
                                    "Access-Control-Request-Private-Network");
    }
    answer.headers.emplace_back("access-control-allow-methods", m_methods);
    answer.headers.emplace_back("access-control-max-age", "600");
    if (m_credentials)
        answer.headers.emplace_back("access-control-allow-credentials", "true");
    const std::string_view asked = request.header("access-control-request-headers");
    if (!asked.empty() || m_headers != "*")
        answer.headers.emplace_back("access-control-allow-headers",
                                    m_headers == "*" ? std::string(asked) : m_headers);
    answer.headers.emplace_back("content-type", "text/plain; charset=utf-8");
    return answer;
}

void CorsPolicy::decorate(const HttpRequest &request, HttpResponse &response) const
{
    if (!m_allOrigins)
        response.headers.emplace_back("vary", "Origin");
    const std::string_view origin = request.header("origin");
    if (origin.empty() || !allows(origin))
        return;
    response.headers.emplace_back("access-control-allow-origin", m_allOrigins ? "*" : std::string(origin));
    if (m_credentials)
        response.headers.emplace_back("access-control-allow-credentials", "true");
}

} // namespace engine
