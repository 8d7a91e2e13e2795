#pragma once

#include "cluster/httpd/server_message.h"
#include "cluster/local/gcp/caller_permissions.h"

#include <optional>
#include <span>
#include <string>

namespace cluster::local {

/// What a caller that is not the user himself may do, by the policies. Google's words, of Cloud Storage and
/// of the other services.
class CallerGate
{
public:
    explicit CallerGate(GcpContext &context) : m_context(context), m_permissions(context) {}

    struct Verdict
    {
        std::optional<GoogleError> refusal;
        std::optional<ServerResponse> answer; ///< instead of the service's own
    };
    /// `service` is the prefix, `path` what follows it.
    [[nodiscard]] Verdict judge(const Caller &caller, const std::string &service,
                                const ServerRequest &request, std::span<const std::string> path) const;

    /// Of a bucket that there is; also NotFound.
    [[nodiscard]] GoogleStatus checkBucket(const Caller &caller, const std::string &permission,
                                           const std::string &bucket) const;

private:
    [[nodiscard]] GoogleStatus checkProject(const Caller &caller, const std::string &permission,
                                            const std::string &project) const;
    [[nodiscard]] Verdict tested(const Caller &caller, const ServerRequest &request,
                                 const std::string &bucket) const;

    GcpContext &m_context;
    CallerPermissions m_permissions;
};

} // namespace cluster::local
