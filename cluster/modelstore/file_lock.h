#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/result.h"

#include <filesystem>
#include <functional>

namespace cluster {

/// One holder among all processes, as long as the object lives. The kernel frees it when a process dies,
/// however.
class FileLock
{
public:
    /// Waits while another holds it; `onWait` is called once if there is a wait.
    /// Errors: Cancelled; Unknown where the lock file can't be made.
    static Result<FileLock> acquire(const std::filesystem::path &path, const CancelToken &cancel,
                                    const std::function<void()> &onWait);
    FileLock(FileLock &&other) noexcept;
    FileLock &operator=(FileLock &&other) = delete;
    ~FileLock();

private:
    explicit FileLock(int descriptor);
    int m_descriptor;
};

} // namespace cluster
