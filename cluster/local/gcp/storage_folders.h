#pragma once

#include "cluster/local/gcp/storage_parts.h"

#include <string>
#include <vector>

namespace cluster::local {

/// Folders of hierarchical buckets ("folders") and managed folders ("managedFolders"): both are named by a
/// path that ends with a slash.
class StorageFolders
{
public:
    StorageFolders(StorageParts &parts, bool isManaged) : m_parts(parts), m_isManaged(isManaged) {}

    GoogleResult<nlohmann::json> insert(const ServerRequest &request, const std::string &bucket);
    GoogleResult<nlohmann::json> list(const ServerRequest &request, const std::string &bucket) const;
    GoogleResult<nlohmann::json> get(const ServerRequest &request, const std::string &bucket,
                                     const std::string &name) const;
    GoogleStatus remove(const ServerRequest &request, const std::string &bucket, const std::string &name);

private:
    [[nodiscard]] std::string keyOf(const std::string &bucket, const std::string &name) const;
    [[nodiscard]] nlohmann::json wire(const ServerRequest &request, nlohmann::json folder) const;
    GoogleResult<nlohmann::json> checkedBucket(const std::string &bucket) const;

    StorageParts &m_parts;
    bool m_isManaged;
};

/// In a hierarchical bucket: the folders above an object's name, which appear with it. Nothing in others.
GoogleStatus makeParentFolders(StorageParts &parts, const nlohmann::json &bucket, const std::string &object);

/// The folders right below a prefix, for listings of objects that ask for them.
GoogleResult<std::vector<std::string>> folderPrefixes(const StorageParts &parts, const std::string &bucket,
                                                      const std::string &prefix,
                                                      const std::string &delimiter);

} // namespace cluster::local
