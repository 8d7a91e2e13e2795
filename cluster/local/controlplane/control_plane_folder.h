#pragma once

#include "cluster/local/controlplane/control_plane.h"

#include <cstdint>
#include <filesystem>

namespace cluster::local {

/// Holds a folder for one process at a time; the kernel lets go of it when that process ends, however it
/// ends.
class FolderLock
{
public:
    /// FailedPrecondition: another process has it.
    static Result<FolderLock> take(const std::filesystem::path &dir);

    FolderLock(FolderLock &&other) noexcept;
    FolderLock &operator=(FolderLock &&other) noexcept;
    ~FolderLock();

private:
    explicit FolderLock(int handle);
    int m_handle;
};

/// Makes or renews everything on the disk that the programs need before they start: certificates, tokens,
/// configuration, kubeconfigs, the port. What clients hold (authority, admin token, port) stays as it was.
Result<ControlPlaneEndpoint> prepareFolder(const ControlPlaneOptions &options,
                                           std::chrono::system_clock::time_point now);

} // namespace cluster::local
