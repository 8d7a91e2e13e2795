#pragma once

#include "cluster/local/gcp/enabled_apis.h"
#include "cluster/local/gcp/iam_policy.h"
#include "cluster/local/gcp/object_store.h"
#include "cluster/local/gcp/projects.h"
#include "cluster/local/gcp/timed_operations.h"

#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

constexpr const char *kStorageApi = "storage.googleapis.com";

/// What the parts of the storage service share.
struct StorageParts
{
    explicit StorageParts(GcpContext &shared)
        : context(shared), blobs(shared.bucketsDir / "objects"), objects(shared, blobs), policies(shared),
          projects(shared), apis(shared), operations(shared, "storage")
    {
    }

    GcpContext &context;
    BlobStore blobs;
    ObjectStore objects;
    IamPolicies policies;
    Projects projects;
    EnabledApis apis;
    TimedOperations operations;
};

/// "https://127.0.0.1:PORT/storage", by the name under which the client called.
std::string storageBase(const ServerRequest &request);

/// The resource as clients see it, with its links; its list of access and its owner where they are asked for.
nlohmann::json objectResource(const ServerRequest &request, const StoredObject &object);

std::string bucketKey(const std::string &bucket);
/// The bucket's resource without links. Errors: noBucket().
GoogleResult<nlohmann::json> findBucket(const StorageParts &parts, const std::string &bucket);
bool keepsVersions(const nlohmann::json &bucket);
bool isHierarchical(const nlohmann::json &bucket);
bool isUniform(const nlohmann::json &bucket); ///< has uniform bucket-level access
/// Lists of access are shown: projection=full, or a request that gave one.
bool showsAcl(const ServerRequest &request);

} // namespace cluster::local
