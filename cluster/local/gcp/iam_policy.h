#pragma once

#include "cluster/local/gcp/gcp_service.h"

#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

/// The IAM policies of all resources, by a name each ("projects/P", "buckets/B", "serviceAccounts/EMAIL").
/// One place for the rules that IAM has for all of them: versions, conditions, etags, members, roles.
class IamPolicies
{
public:
    explicit IamPolicies(GcpContext &context) : m_context(context) {}

    /// As getIamPolicy shows it: {"version", "etag", "bindings"}. A policy that nobody set has no bindings
    /// and the etag "ACAB". Conditions are shown to those who ask for version 3; others get the policy as
    /// version 1, with such roles under a name that can't be taken for the plain one.
    [[nodiscard]] GoogleResult<nlohmann::json> get(const std::string &resource, int requestedVersion) const;

    /// Replaces it; an etag, if there is one, must be the present one.
    /// Errors: Aborted (stale etag), InvalidArgument in IAM's words (version, role, member).
    GoogleResult<nlohmann::json> set(const std::string &resource, const nlohmann::json &policy);

    /// The three verbs that resources of most APIs have: getIamPolicy, setIamPolicy, testIamPermissions (all
    /// are had). Discarded for any other.
    GoogleResult<nlohmann::json> answer(const ServerRequest &request, const std::string &verb,
                                        const std::string &resource);

    /// Sets one without the checks: what a resource is born with.
    GoogleStatus setInitial(const std::string &resource, const nlohmann::json &bindings);
    GoogleStatus remove(const std::string &resource);

    /// In all policies: what deleting a service account does to the bindings that name it, and back.
    GoogleStatus renameMember(const std::string &from, const std::string &to);

private:
    [[nodiscard]] GoogleStatus checkMember(const std::string &member) const;
    [[nodiscard]] GoogleResult<nlohmann::json> checkedBindings(const nlohmann::json &policy) const;

    GcpContext &m_context;
};

/// The version that a getIamPolicy asks for, in the body ("options") or the query.
int requestedPolicyVersion(const ServerRequest &request);

} // namespace cluster::local
