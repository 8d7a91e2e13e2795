#include "cluster/local/gcp/workload_identity.h"

#include <nlohmann/json.hpp>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::string_view poolDomain = ".svc.id.goog";
constexpr const char *getAccessToken = "iam.serviceAccounts.getAccessToken";
constexpr const char *getOpenIdToken = "iam.serviceAccounts.getOpenIdToken";

tl::unexpected<Error> plain(const GoogleError &error)
{
    return fail(error.code, error.message);
}

/// The project that a pool is of.
std::string projectOfPool(const std::string &pool)
{
    return pool.substr(0, pool.find(poolDomain));
}

tl::unexpected<Error> denied(const std::string &permission)
{
    return fail(ErrorCode::PermissionDenied,
                "Permission '" + permission + "' denied on resource (or it may not exist).");
}

} // namespace

WorkloadIdentity::WorkloadIdentity(GcpContext &context, AccessTokens &tokens)
    : m_context(context), m_tokens(tokens), m_permissions(context), m_gate(context)
{
}

Result<std::string> WorkloadIdentity::projectNumber(const std::string &project) const
{
    const auto found = Projects(m_context).find(project);
    if (!found)
        return plain(found.error());
    if (!*found)
        return fail(ErrorCode::NotFound, "there is no project " + project);
    return (*found)->number;
}

Result<std::string> WorkloadIdentity::email(const PodIdentity &identity) const
{
    if (!identity.workloadPool.empty())
        return identity.googleAccount.empty() ? identity.workloadPool : identity.googleAccount;
    const auto number = projectNumber(identity.project);
    if (!number)
        return tl::unexpected(number.error());
    return *number + "-compute@developer.gserviceaccount.com";
}

Result<std::vector<std::string>> WorkloadIdentity::membersOf(const PodIdentity &identity) const
{
    const auto number = projectNumber(projectOfPool(identity.workloadPool));
    if (!number)
        return tl::unexpected(number.error());
    const std::string pool = "//iam.googleapis.com/projects/" + *number
        + "/locations/global/workloadIdentityPools/" + identity.workloadPool;
    const std::string account = identity.nameSpace + "/" + identity.serviceAccount;
    return std::vector<std::string>{
        "principal:" + pool + "/subject/ns/" + identity.nameSpace + "/sa/" + identity.serviceAccount,
        "principalSet:" + pool + "/namespace/" + identity.nameSpace,
        "principalSet:" + pool + "/kubernetes.cluster/https://container.googleapis.com/v1/projects/"
            + identity.project + "/locations/" + identity.location + "/clusters/" + identity.cluster,
        "serviceAccount:" + identity.workloadPool + "[" + account + "]"};
}

Result<Caller> WorkloadIdentity::callerOf(const PodIdentity &identity, const std::string &permission) const
{
    const auto address = email(identity);
    if (!address)
        return tl::unexpected(address.error());
    if (identity.workloadPool.empty())
        return Caller{{"serviceAccount:" + *address}, *address};
    auto members = membersOf(identity);
    if (!members)
        return tl::unexpected(members.error());
    const Caller pod{std::move(*members), "Caller"};
    if (identity.googleAccount.empty())
        return pod;
    const auto account = m_context.documents.get("service-accounts/" + identity.googleAccount);
    if (!account)
        return tl::unexpected(account.error());
    if (!*account || (*account)->value.value("disabled", false))
        return denied(permission);
    const auto has = m_permissions.on("serviceAccounts/" + identity.googleAccount,
                                      (*account)->value.value("projectId", std::string()), pod, permission);
    if (!has)
        return plain(has.error());
    if (!*has)
        return denied(permission);
    return Caller{{"serviceAccount:" + identity.googleAccount}, identity.googleAccount};
}

Result<AccessToken> WorkloadIdentity::accessToken(const PodIdentity &identity)
{
    auto caller = callerOf(identity, getAccessToken);
    if (!caller)
        return tl::unexpected(caller.error());
    return AccessToken{m_tokens.issue(std::move(*caller), m_context.now()), AccessTokens::lifetime};
}

Result<std::string> WorkloadIdentity::identityToken(const PodIdentity &identity, const std::string &audience)
{
    if (!identity.workloadPool.empty() && identity.googleAccount.empty())
        return fail(ErrorCode::FailedPrecondition,
                    "Kubernetes service account " + identity.nameSpace + "/" + identity.serviceAccount
                        + " has no Google service account, and only those have identity tokens: annotate it "
                          "with iam.gke.io/gcp-service-account");
    const auto caller = callerOf(identity, getOpenIdToken);
    if (!caller)
        return tl::unexpected(caller.error());
    const auto account = m_context.documents.get("service-accounts/" + caller->words);
    if (!account)
        return tl::unexpected(account.error());
    const std::string id = *account ? (*account)->value.value("uniqueId", std::string()) : std::string("0");
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(m_context.now().time_since_epoch());
    return m_signer.sign({{"aud", audience},
                          {"azp", id},
                          {"email", caller->words},
                          {"email_verified", true},
                          {"exp", (now + AccessTokens::lifetime).count()},
                          {"iat", now.count()},
                          {"iss", "https://accounts.google.com"},
                          {"sub", id}});
}

Status WorkloadIdentity::mayList(const PodIdentity &identity, const std::string &bucket) const
{
    const auto caller = callerOf(identity, getAccessToken);
    if (!caller)
        return fail(caller.error().code == ErrorCode::PermissionDenied ? ErrorCode::Unauthenticated
                                                                       : caller.error().code,
                    caller.error().message);
    const auto checked = m_gate.checkBucket(*caller, "storage.objects.list", bucket);
    if (!checked)
        return plain(checked.error());
    return {};
}

} // namespace cluster::local
