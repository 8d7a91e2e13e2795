#pragma once

#include "cluster/local/gcp/bucket_files.h"
#include "cluster/local/gcp/storage_acl_service.h"
#include "cluster/local/gcp/storage_buckets.h"
#include "cluster/local/gcp/storage_caches.h"
#include "cluster/local/gcp/storage_folders.h"
#include "cluster/local/gcp/storage_objects.h"
#include "cluster/local/gcp/storage_uploads.h"

#include <memory>
#include <span>
#include <string>

namespace cluster::local {

/// storage.googleapis.com, JSON API v1: buckets, objects with all kinds of uploads, IAM, folders, anywhere
/// caches. Bytes are below GcpContext::bucketsDir.
///
/// Clients make up the paths of uploads and downloads from the host alone: "/upload/storage/v1/…",
/// "/resumable/upload/storage/v1/…" and "/download/storage/v1/…" must come here too, whole.
class StorageService : public GcpService
{
public:
    explicit StorageService(GcpContext &context);

    ServerResponse handle(const ServerRequest &request, std::span<const std::string> path) override;
    void serve(const std::shared_ptr<ServerExchange> &exchange, std::span<const std::string> path) override;
    std::shared_ptr<BodySink> openSink(const ServerRequest &request,
                                       std::span<const std::string> path) override;
    [[nodiscard]] ServerResponse errorFor(const GoogleError &error) const override;
    void start() override;

    /// The same objects as files; lives as long as this.
    [[nodiscard]] BucketFiles &files() { return m_files; }

private:
    using Path = std::span<const std::string>;

    ServerResponse route(const ServerRequest &request, Path rest);
    [[nodiscard]] GoogleStatus checkEnabled(Path rest) const;
    static ServerResponse ofAcl(const ServerRequest &request, const GoogleResult<nlohmann::json> &body);
    ServerResponse ofBucket(const ServerRequest &request, const std::string &bucket, Path rest);
    ServerResponse ofObject(const ServerRequest &request, const std::string &bucket, const std::string &name,
                            Path rest);
    ServerResponse ofFolders(const ServerRequest &request, const std::string &bucket, Path rest);
    ServerResponse ofCaches(const ServerRequest &request, const std::string &bucket, Path rest);
    ServerResponse upload(const ServerRequest &request, Path rest);

    StorageParts m_parts;
    BucketFiles m_files;
    StorageAclService m_acls;
    StorageBuckets m_buckets;
    StorageObjects m_objects;
    StorageUploads m_uploads;
    StorageCaches m_caches;
};

} // namespace cluster::local
