#pragma once

#include "cluster/local/gcp/storage_parts.h"

#include <string>

namespace cluster::local {

/// Anywhere caches (Rapid Cache) of buckets: one for each zone. They hold nothing here; they have the states,
/// operations and rules of the real ones.
class StorageCaches
{
public:
    explicit StorageCaches(StorageParts &parts) : m_parts(parts) {}

    GoogleResult<nlohmann::json> insert(const ServerRequest &request, const std::string &bucket);
    GoogleResult<nlohmann::json> list(const ServerRequest &request, const std::string &bucket) const;
    GoogleResult<nlohmann::json> get(const ServerRequest &request, const std::string &bucket,
                                     const std::string &id) const;
    GoogleResult<nlohmann::json> patch(const ServerRequest &request, const std::string &bucket,
                                       const std::string &id);
    /// "pause", "resume", "disable".
    GoogleResult<nlohmann::json> act(const ServerRequest &request, const std::string &bucket,
                                     const std::string &id, const std::string &verb);

    GoogleResult<nlohmann::json> operation(const std::string &bucket, const std::string &id) const;
    GoogleResult<nlohmann::json> operations(const std::string &bucket) const;

private:
    GoogleResult<nlohmann::json> find(const std::string &bucket, const std::string &id) const;
    [[nodiscard]] nlohmann::json wire(const ServerRequest &request, nlohmann::json cache) const;
    GoogleResult<nlohmann::json> startOperation(const ServerRequest &request, const OperationPlan &plan,
                                                const std::string &type, const nlohmann::json &cache);

    StorageParts &m_parts;
};

} // namespace cluster::local
