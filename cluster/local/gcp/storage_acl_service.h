#pragma once

#include "cluster/local/gcp/storage_parts.h"

#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace cluster::local {

/// The lists as resources of their own: b/B/acl, b/B/defaultObjectAcl and b/B/o/O/acl, with their entries by
/// entity.
class StorageAclService
{
public:
    explicit StorageAclService(StorageParts &parts) : m_parts(parts) {}

    /// `rest` follows "acl" or "defaultObjectAcl" (`field`): nothing, or an entity. Discarded: there is no
    /// such method. An object of null JSON stands for 204.
    GoogleResult<nlohmann::json> ofBucket(const ServerRequest &request, const std::string &bucket,
                                          const std::string &field, std::span<const std::string> rest);
    GoogleResult<nlohmann::json> ofObject(const ServerRequest &request, const std::string &bucket,
                                          const std::string &name, std::span<const std::string> rest);

private:
    StorageParts &m_parts;
};

} // namespace cluster::local
