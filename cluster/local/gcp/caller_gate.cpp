#include "cluster/local/gcp/caller_gate.h"

#include "cluster/local/gcp/projects.h"
#include "cluster/local/gcp/request_permission.h"
#include "cluster/local/gcp/storage_errors.h"

namespace cluster::local {

using nlohmann::json;

namespace {

/// Google's word for what a permission of Cloud Storage is about.
std::string thingOf(const std::string &permission)
{
    const bool isList = permission == "storage.objects.list";
    return permission.starts_with("storage.objects.") && !isList ? "object" : "bucket";
}

tl::unexpected<GoogleError> noAccess(const Caller &caller, const std::string &permission,
                                     const std::string &thing)
{
    return googleFail(ErrorCode::PermissionDenied,
                      caller.words + " does not have " + permission + " access to the Google Cloud " + thing
                          + ". Permission '" + permission + "' denied on resource (or it may not exist).");
}

json permissionDetails(const std::string &permission, const std::string &service)
{
    return json::array({{{"@type", "type.googleapis.com/google.rpc.ErrorInfo"},
                         {"reason", "IAM_PERMISSION_DENIED"},
                         {"domain", service + ".googleapis.com"},
                         {"metadata", {{"permission", permission}}}}});
}

} // namespace

GoogleStatus CallerGate::checkBucket(const Caller &caller, const std::string &permission,
                                     const std::string &bucket) const
{
    const auto document = m_context.documents.get("storage/buckets/" + bucket);
    if (!document)
        return tl::unexpected(toStorageError(document.error()));
    if (!*document)
        return noBucket();
    const std::string project = (*document)->value.value("projectId", std::string());
    const auto has = m_permissions.on("buckets/" + bucket, project, caller, permission);
    if (!has)
        return tl::unexpected(has.error());
    if (!*has)
        return noAccess(caller, permission, "Storage " + thingOf(permission));
    return {};
}

GoogleStatus CallerGate::checkProject(const Caller &caller, const std::string &permission,
                                      const std::string &idOrNumber) const
{
    const auto project = Projects(m_context).find(idOrNumber);
    if (!project)
        return tl::unexpected(project.error());
    if (*project) {
        const auto has = m_permissions.inProject(caller, permission, (*project)->id);
        if (!has)
            return tl::unexpected(has.error());
        if (*has)
            return {};
    }
    if (permission.starts_with("storage."))
        return noAccess(caller, permission, "project");
    return googleFail(ErrorCode::PermissionDenied,
                      "Permission " + permission + " denied (or the resource may not exist).",
                      permissionDetails(permission, permission.substr(0, permission.find('.'))));
}

CallerGate::Verdict CallerGate::tested(const Caller &caller, const ServerRequest &request,
                                       const std::string &bucket) const
{
    json had = json::array();
    for (const std::string &permission : request.queryValues("permissions")) {
        const auto checked = checkBucket(caller, permission, bucket);
        if (checked)
            had.push_back(permission);
        else if (checked.error().code != ErrorCode::PermissionDenied)
            return {checked.error(), std::nullopt};
    }
    json answer{{"kind", "storage#testIamPermissionsResponse"}};
    if (!had.empty())
        answer["permissions"] = std::move(had);
    return {std::nullopt, jsonResponse(answer)};
}

CallerGate::Verdict CallerGate::judge(const Caller &caller, const std::string &service,
                                      const ServerRequest &request, std::span<const std::string> path) const
{
    if (const auto bucket = testedBucket(service, path); bucket && request.method == "GET")
        return tested(caller, request, *bucket);
    const auto needs = requiredPermissions(service, request, path);
    if (!needs)
        return {
            GoogleError{ErrorCode::PermissionDenied, "The caller does not have permission", json::array(), 0},
            std::nullopt};
    for (const RequiredPermission &need : *needs) {
        const auto checked = need.bucket.empty() ? checkProject(caller, need.permission, need.project)
                                                 : checkBucket(caller, need.permission, need.bucket);
        if (!checked)
            return {checked.error(), std::nullopt};
    }
    return {};
}

} // namespace cluster::local
