#pragma once

#include "cluster/local/gcp/access_tokens.h"
#include "cluster/local/gcp/iam_policy.h"

#include <string>
#include <vector>

namespace cluster::local {

/// What policies allow a caller. A binding with a condition counts as if the condition held: conditions are
/// kept, but not evaluated here.
class CallerPermissions
{
public:
    explicit CallerPermissions(GcpContext &context) : m_policies(context) {}

    /// By the project's own policy.
    [[nodiscard]] GoogleResult<bool> inProject(const Caller &caller, const std::string &permission,
                                               const std::string &project) const;
    /// By the policy of a resource ("buckets/B", "serviceAccounts/EMAIL") or by its project's. Who has a
    /// basic role in the project is also meant by its members projectOwner:P, projectEditor:P,
    /// projectViewer:P.
    [[nodiscard]] GoogleResult<bool> on(const std::string &resource, const std::string &project,
                                        const Caller &caller, const std::string &permission) const;

private:
    [[nodiscard]] GoogleResult<std::vector<std::string>> rolesOf(const std::vector<std::string> &members,
                                                                 const std::string &resource) const;

    IamPolicies m_policies;
};

} // namespace cluster::local
