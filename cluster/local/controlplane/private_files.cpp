#include "cluster/local/controlplane/private_files.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cluster::local {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> fileFailure(const std::string &what, const fs::path &path, int error)
{
    const ErrorCode code = error == EACCES || error == EPERM || error == EROFS ? ErrorCode::PermissionDenied
        : error == ENOENT                                                      ? ErrorCode::NotFound
        : error == ENOSPC || error == EDQUOT                                   ? ErrorCode::ResourceExhausted
                                                                               : ErrorCode::Internal;
    return fail(code, "cannot " + what + " " + path.string() + ": " + std::strerror(error));
}

bool writeAll(int file, std::string_view content)
{
    while (!content.empty()) {
        const ssize_t written = ::write(file, content.data(), content.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

} // namespace

Status makePrivateFolder(const fs::path &dir)
{
    std::error_code error;
    fs::create_directories(dir, error);
    if (!error)
        fs::permissions(dir, fs::perms::owner_all, error);
    if (error)
        return fileFailure("make the folder", dir, error.value());
    return {};
}

Status writePrivateFile(const fs::path &file, std::string_view content)
{
    const fs::path fresh = file.string() + ".new";
    const int handle = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (handle < 0)
        return fileFailure("write", file, errno);
    const bool isWritten = ::fchmod(handle, 0600) == 0 && writeAll(handle, content) && ::fsync(handle) == 0;
    const int error = errno;
    ::close(handle);
    if (!isWritten)
        return fileFailure("write", file, error);
    if (::rename(fresh.c_str(), file.c_str()) != 0)
        return fileFailure("write", file, errno);
    return {};
}

Result<std::string> readPrivateFile(const fs::path &file)
{
    const int handle = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (handle < 0)
        return fileFailure("read", file, errno);
    std::string content;
    std::array<char, 16384> part{};
    ssize_t got = 0;
    while ((got = ::read(handle, part.data(), part.size())) > 0 || (got < 0 && errno == EINTR)) {
        if (got > 0)
            content.append(part.data(), static_cast<std::size_t>(got));
    }
    const int error = errno;
    ::close(handle);
    if (got < 0)
        return fileFailure("read", file, error);
    return content;
}

} // namespace cluster::local
