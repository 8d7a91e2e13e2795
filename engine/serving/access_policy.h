#pragma once

#include "engine/serving/dialect.h"
#include "engine/serving/http_message.h"
#include "engine/serving/server_options.h"
#include <optional>
#include <string_view>

namespace engine {

/// API keys: who may use which paths. Keys are compared in constant time.
class ApiKeyGuard
{
public:
    explicit ApiKeyGuard(const ServerOptions &options);

    /// The refusal (401), or nothing. path: without the root path.
    [[nodiscard]] std::optional<HttpResponse> check(const HttpRequest &request, std::string_view path) const;

private:
    [[nodiscard]] bool isProtected(std::string_view path) const;
    [[nodiscard]] bool isValid(std::string_view authorization) const;

    std::vector<std::string> m_keys;
    const Dialect &m_dialect;
};

/// Which web pages may use the server, as the dialect's framework has it.
class CorsPolicy
{
public:
    explicit CorsPolicy(const ServerOptions &options);

    /// The whole answer to a preflight request, or nothing if it isn't one.
    [[nodiscard]] std::optional<HttpResponse> preflight(const HttpRequest &request) const;
    void decorate(const HttpRequest &request, HttpResponse &response) const;

private:
    [[nodiscard]] bool allows(std::string_view origin) const;

    const Dialect &m_dialect;
    std::vector<std::string> m_origins;
    bool m_allOrigins;
    std::string m_methods;
    std::string m_headers;
    bool m_credentials;
};

/// Equal? Takes the same time for all texts of one length.
[[nodiscard]] bool constantTimeEquals(std::string_view a, std::string_view b);

} // namespace engine
