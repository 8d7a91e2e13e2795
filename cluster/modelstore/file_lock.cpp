#include "cluster/modelstore/file_lock.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace cluster {

FileLock::FileLock(int descriptor) : m_descriptor(descriptor) {}

FileLock::FileLock(FileLock &&other) noexcept : m_descriptor(std::exchange(other.m_descriptor, -1)) {}

FileLock::~FileLock()
{
    if (m_descriptor >= 0)
        ::close(m_descriptor);
}

Result<FileLock> FileLock::acquire(const std::filesystem::path &path, const CancelToken &cancel,
                                   const std::function<void()> &onWait)
{
    constexpr std::chrono::milliseconds pause{50};
    std::error_code ignored; // open() tells it better
    std::filesystem::create_directories(path.parent_path(), ignored);
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0)
        return fail(ErrorCode::PermissionDenied,
                    "can't make the lock file " + path.string() + " (" + std::strerror(errno)
                        + "): check who owns the folder");
    FileLock lock(descriptor);
    for (bool hasWaited = false; ::flock(descriptor, LOCK_EX | LOCK_NB) != 0; hasWaited = true) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return fail(ErrorCode::Unknown,
                        "can't lock " + path.string() + " (" + std::strerror(errno) + ")");
        if (cancel.stop_requested())
            return fail(ErrorCode::Cancelled, "stopped while another process held " + path.string());
        if (!hasWaited && onWait)
            onWait();
        std::this_thread::sleep_for(pause);
    }
    return lock;
}

} // namespace cluster
