#pragma once

#include "cluster/local/gcp/access_tokens.h"
#include "cluster/local/gcp/gcp_service.h"

#include <chrono>
#include <optional>
#include <string>

namespace cluster::local {

/// What stands before all services: the token (the user's own, or one of a pod), and faults on order for
/// requests.
class RequestGate
{
public:
    RequestGate(Faults &faults, const AccessTokens &tokens, WallClock now, std::string token)
        : m_faults(faults), m_tokens(tokens), m_now(std::move(now)), m_token(std::move(token))
    {
    }

    struct Verdict
    {
        std::optional<GoogleError> refusal;
        std::optional<Caller> caller; ///< nothing: the user, who may do everything
        std::chrono::milliseconds delay{0}; ///< before the answer, or the refusal
    };
    [[nodiscard]] Verdict judge(const ServerRequest &request, const std::string &service);
    /// Only the token, and no fault strikes: for what happens before the request is whole.
    [[nodiscard]] bool hasToken(const ServerRequest &request) const;
    /// Who shows the token of a pod.
    [[nodiscard]] std::optional<Caller> callerOf(const ServerRequest &request) const;

private:
    [[nodiscard]] std::optional<GoogleError> checkToken(const ServerRequest &request,
                                                        const FaultContext &context);

    Faults &m_faults;
    const AccessTokens &m_tokens;
    WallClock m_now;
    std::string m_token;
};

/// The zone, region or location that a path names ("…/locations/L/…"), or empty.
std::string locationOfPath(const std::vector<std::string> &segments);

} // namespace cluster::local
