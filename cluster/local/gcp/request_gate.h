#pragma once

#include "cluster/local/gcp/gcp_service.h"

#include <chrono>
#include <optional>
#include <string>

namespace cluster::local {

/// What stands before all services: the token, and faults on order for requests.
class RequestGate
{
public:
    RequestGate(Faults &faults, std::string token) : m_faults(faults), m_token(std::move(token)) {}

    struct Verdict
    {
        std::optional<GoogleError> refusal;
        std::chrono::milliseconds delay{0}; ///< before the answer, or the refusal
    };
    [[nodiscard]] Verdict judge(const ServerRequest &request, const std::string &service);
    /// Only the token, and no fault strikes: for what happens before the request is whole.
    [[nodiscard]] bool hasToken(const ServerRequest &request) const;

private:
    [[nodiscard]] std::optional<GoogleError> checkToken(const ServerRequest &request,
                                                        const FaultContext &context);

    Faults &m_faults;
    std::string m_token;
};

/// The zone, region or location that a path names ("…/locations/L/…"), or empty.
std::string locationOfPath(const std::vector<std::string> &segments);

} // namespace cluster::local
