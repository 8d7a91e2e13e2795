#pragma once

#include "cluster/local/gcp/access_tokens.h"
#include "cluster/local/gcp/caller_gate.h"
#include "cluster/local/gcp/identity_token.h"
#include "cluster/local/gcp/pod_identities.h"
#include "cluster/local/gcp/projects.h"

namespace cluster::local {

/// Workload Identity Federation for GKE by the policies of this target, in both of its styles.
class WorkloadIdentity final : public PodIdentities
{
public:
    WorkloadIdentity(GcpContext &context, AccessTokens &tokens);

    [[nodiscard]] Result<std::string> projectNumber(const std::string &project) const override;
    [[nodiscard]] Result<std::string> email(const PodIdentity &identity) const override;
    Result<AccessToken> accessToken(const PodIdentity &identity) override;
    Result<std::string> identityToken(const PodIdentity &identity, const std::string &audience) override;
    [[nodiscard]] Status mayList(const PodIdentity &identity, const std::string &bucket) const override;

    /// Names by which policies mean a pod itself: principal://…, its sets, and the older
    /// serviceAccount:POOL[NS/NAME].
    [[nodiscard]] Result<std::vector<std::string>> membersOf(const PodIdentity &identity) const;

private:
    /// As whom the pod calls, once the links between it and its Google account are there.
    [[nodiscard]] Result<Caller> callerOf(const PodIdentity &identity, const std::string &permission) const;

    GcpContext &m_context;
    AccessTokens &m_tokens;
    CallerPermissions m_permissions;
    CallerGate m_gate;
    IdentityTokenSigner m_signer;
};

} // namespace cluster::local
