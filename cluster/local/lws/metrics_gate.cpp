#include "cluster/local/lws/metrics_gate.h"

#include "cluster/local/nodes/json_access.h"

#include <nlohmann/json.hpp>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

bool isTrue(const Json &value)
{
    return value.is_boolean() && value.get<bool>();
}

} // namespace

Status checkMetricsReader(KubeClient &client, const std::string &authorization, const std::string &path,
                          const KubeCallOptions &call)
{
    constexpr std::string_view scheme = "Bearer ";
    if (!authorization.starts_with(scheme))
        return fail(ErrorCode::Unauthenticated, "metrics are for users with a token of this cluster");
    KubeWriteOptions options;
    static_cast<KubeCallOptions &>(options) = call;
    const Json question{{"apiVersion", "authentication.k8s.io/v1"},
                        {"kind", "TokenReview"},
                        {"spec", {{"token", authorization.substr(scheme.size())}}}};
    const auto known
        = client.create(apiGroup("authentication.k8s.io", "v1", "tokenreviews"), question, options);
    if (!known)
        return tl::unexpected(known.error());
    if (!isTrue(at(at(*known, "status"), "authenticated")))
        return fail(ErrorCode::Unauthenticated, "the token is none of this cluster");
    const Json &user = at(at(*known, "status"), "user");
    Json access{{"user", text(user, "username")},
                {"nonResourceAttributes", {{"path", path}, {"verb", "get"}}}};
    if (at(user, "groups").is_array())
        access["groups"] = at(user, "groups");
    const Json wish{{"apiVersion", "authorization.k8s.io/v1"},
                    {"kind", "SubjectAccessReview"},
                    {"spec", std::move(access)}};
    const auto judged
        = client.create(apiGroup("authorization.k8s.io", "v1", "subjectaccessreviews"), wish, options);
    if (!judged)
        return tl::unexpected(judged.error());
    if (!isTrue(at(at(*judged, "status"), "allowed")))
        return fail(ErrorCode::PermissionDenied, text(user, "username") + " may not get " + path);
    return {};
}

} // namespace cluster::local
