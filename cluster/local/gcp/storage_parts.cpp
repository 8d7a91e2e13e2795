#include "cluster/local/gcp/storage_parts.h"

#include "cluster/local/gcp/storage_acls.h"
#include "cluster/local/gcp/storage_errors.h"

namespace cluster::local {

using nlohmann::json;

std::string storageBase(const ServerRequest &request)
{
    const std::string host(request.header("host").value_or("storage.googleapis.com"));
    return (request.isTls ? "https://" : "http://") + host + "/storage";
}

json objectResource(const ServerRequest &request, const StoredObject &object)
{
    json resource = object.resource;
    const std::string bucket = resource.value("bucket", std::string());
    const std::string generation = resource.value("generation", std::string());
    const std::string path = "/storage/v1/b/" + urlEncoded(bucket) + "/o/" + urlEncoded(object.name());
    const std::string base = storageBase(request);
    resource["kind"] = "storage#object";
    resource["id"] = bucket + "/" + object.name() + "/" + generation;
    resource["selfLink"] = base + path;
    resource["mediaLink"] = base + "/download" + path + "?generation=" + generation + "&alt=media";
    const json acl = resource.value("acl", json());
    resource.erase("acl");
    if (acl.is_array() && showsAcl(request)) {
        resource["acl"] = storageAcl::entries(acl, bucket, &object);
        resource["owner"] = {{"entity", storageAcl::ownerEntity()}};
    }
    return resource;
}

std::string bucketKey(const std::string &bucket)
{
    return "storage/buckets/" + bucket;
}

GoogleResult<json> findBucket(const StorageParts &parts, const std::string &bucket)
{
    const auto document = parts.context.documents.get(bucketKey(bucket));
    if (!document)
        return tl::unexpected(toStorageError(document.error()));
    if (!*document)
        return noBucket();
    return (*document)->value;
}

bool keepsVersions(const json &bucket)
{
    return bucket.value("versioning", json::object()).value("enabled", false);
}

bool isUniform(const json &bucket)
{
    return bucket.value("iamConfiguration", json::object())
        .value("uniformBucketLevelAccess", json::object())
        .value("enabled", false);
}

bool showsAcl(const ServerRequest &request)
{
    const auto projection = request.queryValue("projection");
    return projection ? *projection == "full"
                      : request.queryValue("predefinedAcl").has_value()
            || request.queryValue("destinationPredefinedAcl").has_value();
}

bool isHierarchical(const json &bucket)
{
    return bucket.value("hierarchicalNamespace", json::object()).value("enabled", false);
}

} // namespace cluster::local
