#include "cluster/local/storage/guarded_folder.h"

#include "cluster/local/storage/object_paths.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t mostEntries = 500'000;
constexpr int deepest = 128;
constexpr int folderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

tl::unexpected<Error> failed(const std::string &what, const std::string &path, int number)
{
    ErrorCode code = ErrorCode::Internal;
    if (number == ENOENT || number == ELOOP || number == ENOTDIR)
        code = ErrorCode::NotFound;
    else if (number == ENOSPC || number == EDQUOT)
        code = ErrorCode::ResourceExhausted;
    return fail(code, "can't " + what + " '" + path + "': " + std::strerror(number));
}

SeenFile seenOf(const struct stat &status)
{
    return {S_ISDIR(status.st_mode), S_ISDIR(status.st_mode) ? 0 : static_cast<std::uint64_t>(status.st_size),
            status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec, status.st_ino};
}

bool isKnownKind(const struct stat &status)
{
    return S_ISDIR(status.st_mode) || S_ISREG(status.st_mode);
}

Status scanBelow(int folder, const std::string &prefix, int depth, std::map<std::string, SeenFile> &found)
{
    DIR *entries = ::fdopendir(folder); // owns it from here
    if (entries == nullptr) {
        const int number = errno;
        ::close(folder);
        return failed("read", prefix, number);
    }
    Status result;
    while (const dirent *entry = ::readdir(entries)) {
        const std::string name = entry->d_name;
        const std::string path = prefix + name;
        struct stat status
        {
        };
        if (name == "." || name == ".." || !isTreePath(path)
            || ::fstatat(::dirfd(entries), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0
            || !isKnownKind(status))
            continue;
        if (found.size() >= mostEntries || depth >= deepest) {
            result
                = fail(ErrorCode::ResourceExhausted,
                       "more files in a bucket's folder than can be kept in step: over 500000, or 128 deep");
            break;
        }
        found[path] = seenOf(status);
        if (!S_ISDIR(status.st_mode))
            continue;
        const int below = ::openat(::dirfd(entries), name.c_str(), folderFlags);
        if (below < 0)
            continue; // gone meanwhile
        result = scanBelow(below, path + "/", depth + 1, found);
        if (!result)
            break;
    }
    ::closedir(entries);
    return result;
}

} // namespace

Result<GuardedFolder> GuardedFolder::open(const fs::path &folder, const fs::path &staging)
{
    int opened[2] = {-1, -1};
    int number = 0;
    for (int i = 0; i < 2; ++i) {
        const fs::path &path = i == 0 ? folder : staging;
        std::error_code error;
        fs::create_directories(path, error);
        opened[i] = ::open(path.c_str(), folderFlags);
        number = opened[i] < 0 && number == 0 ? errno : number;
    }
    if (number == 0)
        return GuardedFolder(opened[0], opened[1]);
    for (const int file : opened) {
        if (file >= 0)
            ::close(file);
    }
    return failed("open", folder.string(), number);
}

GuardedFolder::GuardedFolder(GuardedFolder &&other) noexcept
    : m_folder(std::exchange(other.m_folder, -1)), m_staging(std::exchange(other.m_staging, -1)),
      m_staged(other.m_staged), m_names(std::move(other.m_names))
{
}

GuardedFolder::~GuardedFolder()
{
    for (const int file : {m_folder, m_staging}) {
        if (file >= 0)
            ::close(file);
    }
}

std::string GuardedFolder::identity() const
{
    // File systems give the number of a deleted folder to the next one: only its birth tells them apart.
    struct statx status
    {
    };
    if (::statx(m_folder, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0)
        return "unknown";
    return std::to_string(status.stx_ino) + " " + std::to_string(status.stx_btime.tv_sec) + "."
        + std::to_string(status.stx_btime.tv_nsec);
}

Result<std::map<std::string, SeenFile>> GuardedFolder::scan() const
{
    std::map<std::string, SeenFile> found;
    const int again = ::openat(m_folder, ".", folderFlags); // a position of its own
    if (again < 0)
        return failed("read", ".", errno);
    if (Status scanned = scanBelow(again, {}, 0, found); !scanned)
        return tl::unexpected(scanned.error());
    return found;
}

int GuardedFolder::openParent(const std::string &path, std::string &last) const
{
    if (!isTreePath(path)) {
        errno = ENOENT;
        return -1;
    }
    int folder = ::openat(m_folder, ".", folderFlags);
    std::size_t begin = 0;
    for (std::size_t slash = path.find('/'); folder >= 0 && slash != std::string::npos;
         slash = path.find('/', begin)) {
        // O_NOFOLLOW: a link in the place of a folder is an error, wherever it leads.
        const int next = ::openat(folder, path.substr(begin, slash - begin).c_str(), folderFlags);
        const int number = errno;
        ::close(folder);
        errno = number;
        folder = next;
        begin = slash + 1;
    }
    last = path.substr(begin);
    return folder;
}

Result<SeenFile> GuardedFolder::look(const std::string &path) const
{
    std::string last;
    const int parent = openParent(path, last);
    if (parent < 0)
        return failed("find", path, errno);
    struct stat status
    {
    };
    const int number = ::fstatat(parent, last.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
    ::close(parent);
    if (number != 0 || !isKnownKind(status))
        return failed("find", path, number != 0 ? number : ENOENT);
    return seenOf(status);
}

Status GuardedFolder::makeFolder(const std::string &path)
{
    std::string last;
    const int parent = openParent(path, last);
    if (parent < 0)
        return failed("make", path, errno);
    const int number = ::mkdirat(parent, last.c_str(), 0755) == 0 ? 0 : errno;
    ::close(parent);
    if (number != 0 && number != EEXIST)
        return failed("make", path, number);
    return {};
}

Status GuardedFolder::remove(const std::string &path, const SeenFile &asSeen)
{
    std::string last;
    const auto now = look(path);
    if (!now || !now->isSame(asSeen))
        return {}; // gone, or another one by now: its owner will be heard
    const int parent = openParent(path, last);
    if (parent < 0)
        return {};
    const int number = ::unlinkat(parent, last.c_str(), asSeen.isFolder ? AT_REMOVEDIR : 0) == 0 ? 0 : errno;
    ::close(parent);
    if (number != 0 && number != ENOENT && number != ENOTEMPTY && number != EEXIST)
        return failed("remove", path, number);
    return {};
}

Result<int> GuardedFolder::openToRead(const std::string &path, SeenFile &seen) const
{
    std::string last;
    const int parent = openParent(path, last);
    if (parent < 0)
        return failed("open", path, errno);
    const int file = ::openat(parent, last.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const int number = errno;
    ::close(parent);
    if (file < 0)
        return failed("open", path, number);
    struct stat status
    {
    };
    if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(file);
        return failed("open", path, ENOENT);
    }
    // The kernel lends a file to readers only while nobody has it open to write: GCS FUSE, too, makes an
    // object of a file when it is closed. A file system that knows no leases says EINVAL.
    if (::fcntl(file, F_SETLEASE, F_RDLCK) == 0) {
        ::fcntl(file, F_SETLEASE, F_UNLCK);
    } else if (errno == EAGAIN) {
        ::close(file);
        return fail(ErrorCode::Unavailable, "'" + path + "' is being written");
    }
    seen = seenOf(status);
    return file;
}

Result<int> GuardedFolder::stage()
{
    const std::string name = std::to_string(m_staged++);
    ::unlinkat(m_staging, name.c_str(), 0);
    const int file
        = ::openat(m_staging, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return failed("make", name, errno);
    m_names[file] = name;
    return file;
}

Result<SeenFile> GuardedFolder::place(int file, const std::string &path, const SeenFile *replaced,
                                      unsigned mode)
{
    struct stat status
    {
    };
    std::string last;
    ::fchmod(file, mode);
    const int parent = openParent(path, last);
    int number = parent < 0 || ::fstat(file, &status) != 0 ? errno : 0;
    bool isOther = false;
    if (number == 0 && replaced != nullptr) {
        const auto now = look(path);
        isOther = !now || !now->isSame(*replaced);
    }
    if (number == 0 && !isOther) {
        const std::string &name = m_names.at(file);
        const unsigned flags = replaced == nullptr ? RENAME_NOREPLACE : 0;
        if (::renameat2(m_staging, name.c_str(), parent, last.c_str(), flags) != 0)
            number = errno;
    }
    if (parent >= 0)
        ::close(parent);
    if (number == 0 && !isOther) {
        m_names.erase(file);
        ::close(file);
        return seenOf(status);
    }
    drop(file);
    if (isOther || number == EEXIST)
        return fail(ErrorCode::Aborted, "'" + path + "' is another file by now");
    return failed("write", path, number);
}

void GuardedFolder::drop(int file)
{
    if (const auto found = m_names.find(file); found != m_names.end()) {
        ::unlinkat(m_staging, found->second.c_str(), 0);
        m_names.erase(found);
    }
    ::close(file);
}

} // namespace cluster::local
