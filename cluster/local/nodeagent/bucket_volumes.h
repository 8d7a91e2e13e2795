#pragma once

#include "cluster/base/result.h"

#include <filesystem>
#include <string>
#include <vector>

namespace cluster::local {

/// A volume of GKE's GCS FUSE driver.
struct BucketVolume
{
    std::string bucket;
    std::vector<std::string> mountOptions; ///< GCS FUSE's: "implicit-dirs", "only-dir=models", "ro"
    bool isReadOnly = false;
};

/// Gives the folders that play buckets. Calls block and come from several threads.
class BucketVolumes
{
public:
    virtual ~BucketVolumes() = default;

    /// The bucket's content as a folder for the pod `uid`, in step with the bucket until release(). Again for
    /// the same volume: the same folder. Errors in the driver's words, worth a FailedMount event.
    virtual Result<std::filesystem::path> mount(const BucketVolume &volume, const std::string &uid) = 0;
    /// What the pod has written, and closed, is in the buckets when this returns.
    virtual Status flush(const std::string &uid) = 0;
    virtual void release(const std::string &uid) = 0;
};

} // namespace cluster::local
