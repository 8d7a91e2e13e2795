#pragma once

#include "cluster/local/gcp/blob_store.h"
#include "cluster/local/gcp/gcp_service.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cluster::local {

/// What must hold of the live object (or the bucket) for a call to go on.
struct ObjectConditions
{
    std::optional<std::int64_t> generation; ///< 0: there is none
    std::optional<std::int64_t> notGeneration;
    std::optional<std::int64_t> metageneration;
    std::optional<std::int64_t> notMetageneration;
};

/// From ifGenerationMatch … of the query. A prefix reads the source's of a copy ("ifSourceGenerationMatch").
ObjectConditions conditionsOf(const ServerRequest &request, const std::string &prefix = "if");

/// A stored object: Cloud Storage's resource without the links, and its bytes.
struct StoredObject
{
    nlohmann::json resource;
    std::string blob;

    [[nodiscard]] std::int64_t generation() const;
    [[nodiscard]] std::int64_t metageneration() const;
    [[nodiscard]] std::uint64_t size() const;
    [[nodiscard]] std::string name() const { return resource.value("name", std::string()); }
};

struct ObjectQuery
{
    std::string prefix;
    std::string delimiter;
    std::string startOffset, endOffset; ///< names from, and before
    bool includeTrailingDelimiter = false;
    bool versions = false; ///< also what was replaced or deleted in a bucket with versioning
    std::size_t limit = 1000; ///< objects and prefixes together
    std::string after; ///< where the last page ended
};

struct ObjectList
{
    std::vector<StoredObject> objects;
    std::vector<std::string> prefixes;
    std::string next; ///< empty: that was all
};

/// Objects and their generations in buckets that somebody else looks after. Thread-safe; changes take turns.
class ObjectStore
{
public:
    ObjectStore(GcpContext &context, BlobStore &blobs) : m_context(context), m_blobs(blobs) {}

    /// Of the live generation, or the one asked for. NotFound.
    [[nodiscard]] GoogleResult<StoredObject> find(const std::string &bucket, const std::string &name,
                                                  std::optional<std::int64_t> generation = {}) const;
    [[nodiscard]] GoogleResult<ObjectList> list(const std::string &bucket, const ObjectQuery &query) const;
    [[nodiscard]] GoogleResult<bool> isEmpty(const std::string &bucket) const;

    /// Makes a flushed blob the live generation of a name. The store owns the blob from then on; on an error
    /// it is still the caller's. `fields`: contentType, metadata and the like; checksums in it must be right.
    GoogleResult<StoredObject> commit(const std::string &bucket, const std::string &name,
                                      const nlohmann::json &fields, const std::string &blob,
                                      const ObjectConditions &conditions, bool keepVersions);
    GoogleResult<StoredObject> update(const std::string &bucket, const std::string &name,
                                      std::optional<std::int64_t> generation, const nlohmann::json &fields,
                                      const ObjectConditions &conditions);
    GoogleStatus remove(const std::string &bucket, const std::string &name,
                        std::optional<std::int64_t> generation, const ObjectConditions &conditions,
                        bool keepVersions);

    /// The blobs of all objects, for BlobStore::sweep.
    [[nodiscard]] GoogleResult<std::set<std::string>> blobs() const;

private:
    GoogleResult<std::optional<StoredObject>> live(const std::string &bucket, const std::string &name) const;
    GoogleResult<std::vector<StoredObject>> allVersions(const std::string &bucket,
                                                        const std::string &prefix) const;
    GoogleStatus archive(const std::string &bucket, const StoredObject &object);
    std::int64_t nextGeneration(std::int64_t after);

    GcpContext &m_context;
    BlobStore &m_blobs;
    mutable std::mutex m_changing;
    std::int64_t m_lastGeneration = 0;
};

GoogleStatus checkConditions(const std::optional<StoredObject> &live, const ObjectConditions &conditions);
/// Cloud Storage's rules for names of objects.
GoogleStatus checkObjectName(const std::string &name);

} // namespace cluster::local
