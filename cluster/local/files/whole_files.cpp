#include "cluster/local/files/whole_files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

ErrorCode codeOf(int number)
{
    switch (number) {
    case ENOENT:
        return ErrorCode::NotFound;
    case EACCES:
    case EPERM:
    case EROFS:
        return ErrorCode::PermissionDenied;
    case ENOSPC:
    case EDQUOT:
        return ErrorCode::ResourceExhausted;
    default:
        return ErrorCode::Internal;
    }
}

tl::unexpected<Error> failed(const std::string &what, const fs::path &path, int number)
{
    return fail(codeOf(number), what + " " + path.string() + ": " + std::strerror(number));
}

Status writeAll(int file, std::string_view text, const fs::path &path)
{
    while (!text.empty()) {
        const ssize_t count = ::write(file, text.data(), text.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return failed("can't write", path, errno);
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    if (::fsync(file) != 0)
        return failed("can't write", path, errno);
    return {};
}

} // namespace

Status makePrivateFolder(const fs::path &folder)
{
    std::error_code error; // what goes wrong with the parents, mkdir says as well
    fs::create_directories(folder.parent_path(), error);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        return failed("can't make the folder", folder, errno);
    struct stat status = {};
    if (::stat(folder.c_str(), &status) != 0)
        return failed("can't look at", folder, errno);
    if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())
        return fail(ErrorCode::FailedPrecondition, folder.string() + " is not a folder of yours");
    if (::chmod(folder.c_str(), 0700) != 0)
        return failed("can't protect the folder", folder, errno);
    return {};
}

Status writeWholeFile(const fs::path &path, std::string_view text)
{
    std::string name = path.string() + ".XXXXXX";
    const int file = ::mkostemp(name.data(), O_CLOEXEC); // mode 0600
    if (file < 0)
        return failed("can't write", path, errno);
    Status written = writeAll(file, text, path);
    ::close(file);
    if (written && ::rename(name.c_str(), path.c_str()) != 0)
        written = failed("can't write", path, errno);
    if (!written)
        ::unlink(name.c_str());
    return written;
}

Result<std::string> readWholeFile(const fs::path &path, std::size_t limit)
{
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return failed("can't read", path, errno);
    std::string text;
    char piece[16384];
    ssize_t count = 0;
    while (text.size() <= limit && (count = ::read(file, piece, sizeof piece)) != 0) {
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            break;
        text.append(piece, static_cast<std::size_t>(count));
    }
    const int number = errno;
    ::close(file);
    if (count < 0)
        return failed("can't read", path, number);
    if (text.size() > limit)
        return fail(ErrorCode::ResourceExhausted, path.string() + " is larger than it should ever be");
    return text;
}

} // namespace cluster::local
