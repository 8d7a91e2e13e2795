#pragma once

#include "cluster/base/result.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;

namespace cluster::local {

struct Document
{
    std::string key;
    nlohmann::json value;
    /// Counts all writes of the store, so a document made anew never has the generation of its predecessor.
    std::int64_t generation = 0;

    /// Of this generation: canonical base64, because gcloud decodes and encodes etags of IAM policies.
    [[nodiscard]] std::string etag() const;
};

/// The generation that an etag names. Nothing for a text that is not one of ours.
std::optional<std::int64_t> generationOfEtag(std::string_view etag);

/// A step of Documents::apply: a new value, or none to remove what is there.
struct DocumentChange
{
    std::string key;
    std::optional<nlohmann::json> value;
};

/// What the services know, as JSON by key ("container/clusters/P/L/NAME"), in one SQLite file in WAL mode. A
/// write has reached the disk when its call returns. Any thread; calls are short and take turns.
///
/// Errors of all calls: ResourceExhausted (the disk is full, or a fault says so), DataLoss (the file is
/// damaged), Internal.
class Documents
{
public:
    /// Makes the file (mode 0600) when there is none. ":memory:" for tests.
    static Result<std::unique_ptr<Documents>> open(const std::string &path);
    ~Documents();
    Documents(const Documents &) = delete;
    Documents &operator=(const Documents &) = delete;

    Result<std::optional<Document>> get(std::string_view key) const;
    /// All whose key begins with `prefix`, by key, after the key `after`, at most `limit` (0: all).
    Result<std::vector<Document>> list(std::string_view prefix, std::string_view after = {},
                                       std::size_t limit = 0) const;

    Result<Document> create(std::string_view key, nlohmann::json value); ///< or AlreadyExists
    Result<Document> put(std::string_view key, nlohmann::json value); ///< creates or replaces
    /// Errors: NotFound; Aborted when it has another generation by now.
    Result<Document> replace(std::string_view key, nlohmann::json value, std::int64_t generation);

    /// Reads, changes and writes in one transaction. `change` may fail: then nothing is written and its error
    /// is returned. It must not call this store. Errors: NotFound.
    Result<Document> update(std::string_view key, const std::function<Status(nlohmann::json &)> &change);

    /// All of them or none. Removing what is not there is no error.
    Status apply(const std::vector<DocumentChange> &changes);

    Status remove(std::string_view key); ///< NotFound
    Result<std::size_t> removeAll(std::string_view prefix); ///< how many

    /// Another number after each write by this process.
    [[nodiscard]] std::uint64_t changes() const { return m_changes; }

    /// All writes fail with ResourceExhausted from now on (the fault "disk full"); reads go on.
    void setFull(bool full);

private:
    explicit Documents(sqlite3 *database) : m_database(database) {}
    Status erase(std::string_view key);
    Result<Document> write(std::string_view key, nlohmann::json value);
    Result<std::optional<Document>> read(std::string_view key) const;

    mutable std::mutex m_mutex;
    sqlite3 *m_database;
    bool m_full = false;
    std::atomic<std::uint64_t> m_changes = 1;
};

} // namespace cluster::local
