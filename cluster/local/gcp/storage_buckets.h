#pragma once

#include "cluster/local/gcp/storage_parts.h"

#include <string>

namespace cluster::local {

/// Buckets of Cloud Storage's JSON API: their resources, layouts and IAM policies.
class StorageBuckets
{
public:
    explicit StorageBuckets(StorageParts &parts) : m_parts(parts) {}

    GoogleResult<nlohmann::json> insert(const ServerRequest &request);
    GoogleResult<nlohmann::json> list(const ServerRequest &request) const;
    GoogleResult<nlohmann::json> get(const ServerRequest &request, const std::string &name) const;
    GoogleResult<nlohmann::json> patch(const ServerRequest &request, const std::string &name);
    GoogleStatus remove(const ServerRequest &request, const std::string &name);
    GoogleResult<nlohmann::json> layout(const std::string &name) const;

    /// The policy of a bucket, or of a managed folder in it ("projects/_/buckets/B/managedFolders/F").
    GoogleResult<nlohmann::json> policy(const ServerRequest &request, const std::string &resource);
    static nlohmann::json permissions(const ServerRequest &request);

private:
    [[nodiscard]] nlohmann::json wire(const ServerRequest &request, nlohmann::json bucket) const;
    GoogleResult<nlohmann::json> fresh(const nlohmann::json &body, const Project &project) const;

    StorageParts &m_parts;
};

} // namespace cluster::local
