#pragma once

#include "cluster/local/gcp/storage_parts.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace cluster::local {

class UploadSink;

/// Uploads of Cloud Storage's JSON API: media, multipart, and resumable ones, whose sessions and bytes are on
/// disk and outlive this process.
class StorageUploads
{
public:
    explicit StorageUploads(StorageParts &parts) : m_parts(parts) {}

    /// POST …/upload/storage/v1/b/B/o, of any uploadType.
    ServerResponse insert(const ServerRequest &request, const std::string &bucket);
    /// PUT (and POST) with an upload_id: more bytes, or the question how many are here.
    ServerResponse resume(const ServerRequest &request, const std::string &id);
    ServerResponse cancel(const std::string &id);

    /// For bytes that come along with a media or resumable upload; nullptr for others. One that refuses where
    /// the request is wrong: its answer says so.
    std::shared_ptr<BodySink> openSink(const ServerRequest &request, const std::string &bucket);

    /// Forgets sessions older than a week. Returns the blobs of the others.
    GoogleResult<std::set<std::string>> sweep();

private:
    struct Session;

    GoogleResult<nlohmann::json> insertMedia(const ServerRequest &request, const nlohmann::json &bucket);
    GoogleResult<nlohmann::json> insertMultipart(const ServerRequest &request, const nlohmann::json &bucket);
    GoogleResult<std::string> begin(const ServerRequest &request, const nlohmann::json &bucket);
    GoogleResult<Session> findSession(const std::string &id) const;
    GoogleResult<nlohmann::json> finish(const ServerRequest &request, const Session &session);
    ServerResponse incomplete(const Session &session) const;
    GoogleResult<nlohmann::json> commit(const ServerRequest &request, const nlohmann::json &bucket,
                                        const std::string &name, const nlohmann::json &fields,
                                        const std::string &blob, const ObjectConditions &conditions);
    GoogleResult<std::shared_ptr<UploadSink>> sinkFor(const ServerRequest &request, const Session &session);
    std::shared_ptr<UploadSink> take(const ServerRequest &request) const;

    StorageParts &m_parts;
    std::shared_ptr<std::mutex> m_mutex = std::make_shared<std::mutex>();
    /// Sessions to which somebody is writing now.
    std::shared_ptr<std::set<std::string>> m_busy = std::make_shared<std::set<std::string>>();
};

} // namespace cluster::local
