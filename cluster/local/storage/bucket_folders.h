#pragma once

#include "cluster/local/nodeagent/bucket_volumes.h"
#include "cluster/local/storage/bucket_objects.h"

#include <chrono>
#include <functional>
#include <memory>

namespace cluster::local {

struct BucketFoldersOptions
{
    std::filesystem::path folder; ///< of this object alone
    /// The cluster's add-on; where it is off, volumes are refused as on GKE.
    std::function<bool()> isDriverOn;
    std::chrono::milliseconds interval{1000}; ///< between two looks at what has changed
    std::function<void(const std::string &)> log; ///< troubles; on any thread
    /// Whether a pod may list a bucket: FailedPrecondition (its node has no Workload Identity),
    /// Unauthenticated (it gets no token), PermissionDenied, NotFound. Empty: all may.
    std::function<Status(const std::string &bucket, const std::string &uid)> mayList = {};
};

/// Buckets as folders for pods that mount them: a BucketMirror for each way in which one is mounted, looked
/// after by a thread. All pods of a cluster that mount a bucket alike share the folder. A folder that no pod
/// uses goes, once all of it is in the bucket.
class BucketFolders final : public BucketVolumes
{
public:
    /// `objects` outlives it.
    BucketFolders(BucketObjects &objects, BucketFoldersOptions options);
    ~BucketFolders() override;
    BucketFolders(const BucketFolders &) = delete;
    BucketFolders &operator=(const BucketFolders &) = delete;

    Result<std::filesystem::path> mount(const BucketVolume &volume, const std::string &uid) override;
    Status flush(const std::string &uid) override;
    void release(const std::string &uid) override;

private:
    class Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
