#include "cluster/local/daemon/local_paths.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

std::string variable(const char *name)
{
    const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nothing here sets any
    return value ? value : "";
}

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

Status makePrivate(const fs::path &path)
{
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        return failed("can't make the folder", path, errno);
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0)
        return failed("can't look at", path, errno);
    if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())
        return fail(ErrorCode::FailedPrecondition,
                    path.string() + " is not a folder of yours: name another one with SLIPWAY_LOCAL_DIR");
    if (::chmod(path.c_str(), 0700) != 0)
        return failed("can't protect the folder", path, errno);
    return {};
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

Result<LocalPaths> localPaths(const std::string &given)
{
    fs::path root = given.empty() ? variable("SLIPWAY_LOCAL_DIR") : given;
    if (root.empty()) {
        fs::path data = variable("XDG_DATA_HOME");
        if (!data.is_absolute()) {
            const std::string home = variable("HOME");
            if (home.empty())
                return fail(ErrorCode::FailedPrecondition,
                            "neither HOME nor SLIPWAY_LOCAL_DIR says where the local target is kept");
            data = fs::path(home) / ".local/share";
        }
        root = data / "slipway" / "local";
    }
    LocalPaths paths{fs::absolute(root).lexically_normal()};
    // The longest socket: clusters/<16 digits>/run/egress.sock, and room for one of a pod.
    constexpr std::size_t below = 70;
    if (paths.root.string().size() + below > sizeof(sockaddr_un::sun_path))
        return fail(ErrorCode::FailedPrecondition,
                    "the folder " + paths.root.string()
                        + " has too long a path for Unix sockets: name a shorter one with SLIPWAY_LOCAL_DIR");
    return paths;
}

Status makeFolders(const LocalPaths &paths)
{
    for (const fs::path &folder :
         {paths.root, paths.run(), paths.tls(), paths.buckets(), paths.clusters(), paths.gcloudConfig()}) {
        if (Status made = makePrivate(folder); !made)
            return made;
    }
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

Result<std::string> readSmallFile(const fs::path &path, std::size_t limit)
{
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return failed("can't read", path, errno);
    std::string text;
    char piece[4096];
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
