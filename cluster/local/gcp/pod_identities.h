#pragma once

#include "cluster/base/result.h"

#include <chrono>
#include <string>

namespace cluster::local {

/// Whom a pod is for Google.
struct PodIdentity
{
    std::string project; ///< the cluster's
    std::string location; ///< the cluster's
    std::string cluster; ///< its name
    /// "P.svc.id.goog". Empty: the pod is its node, since the cluster has no Workload Identity, its pool no
    /// GKE_METADATA, or the pod the network of its host.
    std::string workloadPool;
    std::string nameSpace, serviceAccount; ///< of Kubernetes
    /// The annotation iam.gke.io/gcp-service-account of that account; empty: the account itself is the
    /// principal.
    std::string googleAccount;
};

struct AccessToken
{
    std::string text;
    std::chrono::seconds lifetime{0};
};

/// IAM's side of Workload Identity. Any thread.
class PodIdentities
{
public:
    virtual ~PodIdentities() = default;

    [[nodiscard]] virtual Result<std::string> projectNumber(const std::string &project) const = 0;
    /// "x@P.iam.gserviceaccount.com", "N-compute@developer.gserviceaccount.com" of nodes; of a principal
    /// itself its workload pool, as GKE says it.
    [[nodiscard]] virtual Result<std::string> email(const PodIdentity &identity) const = 0;

    /// For Google's services of this target. Errors: PermissionDenied, in IAM's words: the Google account has
    /// no binding of roles/iam.workloadIdentityUser for the pod's, or does not exist.
    virtual Result<AccessToken> accessToken(const PodIdentity &identity) = 0;
    /// A JWT of the Google account for `audience`, signed with a key of this target. Errors as accessToken();
    /// FailedPrecondition: there is no Google account.
    virtual Result<std::string> identityToken(const PodIdentity &identity, const std::string &audience) = 0;

    /// Whether the pod may list a bucket. Errors: NotFound; PermissionDenied, in Cloud Storage's words;
    /// Unauthenticated: it can't even have a token.
    [[nodiscard]] virtual Status mayList(const PodIdentity &identity, const std::string &bucket) const = 0;
};

} // namespace cluster::local
