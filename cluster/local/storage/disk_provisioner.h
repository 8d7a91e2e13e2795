#pragma once

#include "cluster/local/storage/disk_claims.h"

#include <filesystem>
#include <functional>
#include <memory>

namespace cluster::local {

struct DiskProvisionerOptions
{
    std::filesystem::path folder; ///< a folder below it plays each disk
    DiskPlace place; ///< of disks that no node has been chosen for
    std::function<void(const std::string &)> log; ///< troubles; on a thread of its own
};

/// The role of GKE's Persistent Disk driver: gives claims of its StorageClasses a volume, deletes the disk
/// with the volume, and makes disks larger when their claim asks. Binding is the real controllers' work.
class DiskProvisioner
{
public:
    /// Starts at once. `client` outlives it.
    DiskProvisioner(KubeClient &client, DiskProvisionerOptions options);
    ~DiskProvisioner(); ///< ends calls that are under way
    DiskProvisioner(const DiskProvisioner &) = delete;
    DiskProvisioner &operator=(const DiskProvisioner &) = delete;

private:
    class Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
