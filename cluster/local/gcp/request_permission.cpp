#include "cluster/local/gcp/request_permission.h"

namespace cluster::local {

namespace {

using Path = std::span<const std::string>;
using Needs = std::optional<std::vector<RequiredPermission>>;

RequiredPermission onBucket(const std::string &bucket, const char *permission)
{
    return {std::string("storage.") + permission, bucket, {}};
}

/// What follows "storage/v1", and whether it is an upload.
Path storagePath(Path path, bool &isUpload)
{
    isUpload = false;
    while (!path.empty() && (path[0] == "resumable" || path[0] == "upload" || path[0] == "download")) {
        isUpload = isUpload || path[0] == "upload";
        path = path.subspan(1);
    }
    if (!path.empty() && path[0] == "storage")
        path = path.subspan(1);
    return path.empty() || path[0] != "v1" ? Path() : path.subspan(1);
}

Needs objectNeeds(const std::string &method, const std::string &bucket, Path rest)
{
    const std::string verb = rest.size() > 2 ? rest[2] : "";
    if (verb.empty() && method == "GET")
        return {{onBucket(bucket, "objects.get")}};
    if (verb.empty() && method == "DELETE")
        return {{onBucket(bucket, "objects.delete")}};
    if (verb.empty() && (method == "PATCH" || method == "PUT"))
        return {{onBucket(bucket, "objects.get"), onBucket(bucket, "objects.update")}};
    if (verb == "compose" && method == "POST")
        return {{onBucket(bucket, "objects.get"), onBucket(bucket, "objects.create")}};
    const bool isCopy = (verb == "rewriteTo" || verb == "copyTo") && rest.size() == 7 && rest[3] == "b";
    if (isCopy && method == "POST")
        return {{onBucket(bucket, "objects.get"), onBucket(rest[4], "objects.create")}};
    return std::nullopt;
}

Needs folderNeeds(const std::string &method, const std::string &bucket, Path rest)
{
    const std::string kind = rest[0];
    const auto need = [&](const char *what) -> Needs { return {{onBucket(bucket, (kind + what).c_str())}}; };
    if (rest.size() == 1 && method == "GET")
        return need(".list");
    if (rest.size() == 1 && method == "POST")
        return need(".create");
    if (rest.size() == 2 && method == "GET")
        return need(".get");
    if (rest.size() == 2 && method == "DELETE")
        return need(".delete");
    return std::nullopt;
}

Needs bucketNeeds(const std::string &method, const std::string &bucket, Path rest)
{
    const bool isGet = method == "GET";
    if (rest.empty() && isGet)
        return {{onBucket(bucket, "buckets.get")}};
    if (rest.empty() && (method == "PATCH" || method == "PUT"))
        return {{onBucket(bucket, "buckets.get"), onBucket(bucket, "buckets.update")}};
    if (rest.empty())
        return method == "DELETE" ? Needs{{onBucket(bucket, "buckets.delete")}} : std::nullopt;
    if (rest[0] == "storageLayout" && isGet)
        return {{onBucket(bucket, "objects.list")}};
    if (rest[0] == "iam" && rest.size() == 1)
        return {{onBucket(bucket, isGet ? "buckets.getIamPolicy" : "buckets.setIamPolicy")}};
    if (rest[0] == "folders" || rest[0] == "managedFolders")
        return folderNeeds(method, bucket, rest);
    if (rest[0] != "o")
        return std::nullopt;
    if (rest.size() == 1)
        return isGet ? Needs{{onBucket(bucket, "objects.list")}} : std::nullopt;
    return objectNeeds(method, bucket, rest);
}

Needs storageNeeds(const ServerRequest &request, Path path)
{
    bool isUpload = false;
    const Path rest = storagePath(path, isUpload);
    if (rest.empty() || rest[0] != "b")
        return std::nullopt;
    if (rest.size() == 1 && request.method == "GET")
        return {{{"storage.buckets.list", {}, request.queryValue("project").value_or("")}}};
    if (rest.size() < 2)
        return std::nullopt;
    if (isUpload)
        return rest.size() == 3 && rest[2] == "o" ? Needs{{onBucket(rest[1], "objects.create")}}
                                                  : std::nullopt;
    return bucketNeeds(request.method, rest[1], rest.subspan(2));
}

/// v1/projects/P/location/global/prometheus/api/v1/METHOD
Needs monitoringNeeds(Path path)
{
    if (path.size() < 9 || path[1] != "projects" || path[5] != "prometheus")
        return std::nullopt;
    const bool isMetadata = path[8] == "metadata";
    return {{{isMetadata ? "monitoring.metricDescriptors.list" : "monitoring.timeSeries.list", {}, path[2]}}};
}

} // namespace

Needs requiredPermissions(const std::string &service, const ServerRequest &request, Path path)
{
    if (service == "storage")
        return storageNeeds(request, path);
    if (service == "monitoring")
        return monitoringNeeds(path);
    return std::nullopt;
}

std::optional<std::string> testedBucket(const std::string &service, Path path)
{
    bool isUpload = false;
    const Path rest = service == "storage" ? storagePath(path, isUpload) : Path();
    const bool isTest
        = !isUpload && rest.size() == 4 && rest[0] == "b" && rest[2] == "iam" && rest[3] == "testPermissions";
    return isTest ? std::optional(rest[1]) : std::nullopt;
}

} // namespace cluster::local
