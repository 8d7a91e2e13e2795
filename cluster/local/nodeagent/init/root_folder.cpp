#include "cluster/local/nodeagent/init/root_folder.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <set>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace cluster::local {

namespace {

bool writeText(const char *path, const std::string &text)
{
    const int file = ::open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    const bool isWritten = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::close(file);
    return isWritten;
}

bool isFolder(const std::string &path)
{
    struct stat status
    {
    };
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool isThere(const std::string &path)
{
    struct stat status
    {
    };
    return ::lstat(path.c_str(), &status) == 0;
}

std::string parentOf(const std::string &path)
{
    const std::size_t slash = path.rfind('/');
    return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

/// Builds the root below m_root; paths are those that the container will see.
class RootBuilder
{
public:
    explicit RootBuilder(std::string root) : m_root(std::move(root)) {}

    std::string error;

    bool begin() { return cover("/"); }

    bool bind(const LaunchMount &mount)
    {
        const std::string target = resolved(mount.target);
        if (!error.empty() || !makeTarget(target, isFolder(mount.source)))
            return false;
        const std::string place = m_root + target;
        if (::mount(mount.source.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
            return failed("bind '" + mount.source + "' to", target);
        if (!mount.isReadOnly)
            return true;
        // Flags that are already on the file system can't be dropped in a user namespace: they are repeated.
        struct statvfs flags
        {
        };
        ::statvfs(place.c_str(), &flags);
        unsigned long kept = MS_BIND | MS_REMOUNT | MS_RDONLY;
        kept |= (flags.f_flag & ST_NOSUID) != 0 ? MS_NOSUID : 0;
        kept |= (flags.f_flag & ST_NODEV) != 0 ? MS_NODEV : 0;
        kept |= (flags.f_flag & ST_NOEXEC) != 0 ? MS_NOEXEC : 0;
        kept |= (flags.f_flag & ST_NOATIME) != 0 ? MS_NOATIME : 0;
        kept |= (flags.f_flag & ST_NODIRATIME) != 0 ? MS_NODIRATIME : 0;
        kept |= (flags.f_flag & ST_RELATIME) != 0 ? MS_RELATIME : 0;
        if (::mount(nullptr, place.c_str(), nullptr, kept, nullptr) != 0)
            return failed("make read-only", target);
        return true;
    }

private:
    bool failed(const std::string &what, const std::string &path)
    {
        error = "can't " + what + " '" + path + "': " + std::strerror(errno);
        return false;
    }

    /// Follows the links in a path as the container will: an absolute one begins at the new root again.
    std::string resolved(const std::string &path)
    {
        std::string done, rest = path;
        for (int links = 0; !rest.empty();) {
            const std::size_t begin = rest.find_first_not_of('/');
            if (begin == std::string::npos)
                break;
            const std::size_t end = std::min(rest.find('/', begin), rest.size());
            const std::string part = rest.substr(begin, end - begin);
            rest.erase(0, end);
            if (part == ".")
                continue;
            if (part == "..") {
                done = done.empty() ? done : done.substr(0, done.rfind('/'));
                continue;
            }
            char buffer[PATH_MAX];
            const ssize_t size = ::readlink((m_root + done + "/" + part).c_str(), buffer, sizeof buffer);
            if (size <= 0) {
                done += "/" + part;
                continue;
            }
            if (++links > 40) {
                error = "too many links in '" + path + "'";
                return {};
            }
            const std::string link(buffer, static_cast<std::size_t>(size));
            done = link[0] == '/' ? "" : done;
            rest = link + rest;
            if (link[0] != '/')
                rest.insert(0, "/");
        }
        return done.empty() ? "/" : done;
    }

    bool makeTarget(const std::string &path, bool wantsFolder)
    {
        if (isThere(m_root + path)) {
            if (isFolder(m_root + path) == wantsFolder)
                return true;
            errno = wantsFolder ? ENOTDIR : EISDIR;
            return failed("mount on", path);
        }
        const std::string parent = parentOf(path);
        if (!makeTarget(parent, true))
            return false;
        if (!m_covered.contains(parent) && !isMadeHere(parent) && !cover(parent))
            return false;
        if (wantsFolder ? ::mkdir((m_root + path).c_str(), 0755) != 0 : !touch(m_root + path))
            return failed("make", path);
        m_made.insert(path);
        return true;
    }

    bool isMadeHere(const std::string &path) const { return m_made.contains(path); }

    static bool touch(const std::string &path)
    {
        const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (file < 0)
            return false;
        ::close(file);
        return true;
    }

    /// Lays an empty file system over a folder and binds all that was in it into that, so that names can be
    /// added without the folder itself being touched.
    bool cover(const std::string &folder)
    {
        const std::string place = folder == "/" ? m_root : m_root + folder;
        if (::mount("slipway", place.c_str(), "tmpfs", MS_NOSUID, "mode=0755,size=16m") != 0)
            return failed("cover", folder);
        m_covered.insert(folder);
        DIR *entries = ::opendir(folder.c_str());
        if (entries == nullptr)
            return failed("read", folder);
        const std::string prefix = folder == "/" ? "/" : folder + "/";
        while (const dirent *entry = ::readdir(entries)) {
            const std::string name = entry->d_name;
            if (name != "." && name != "..")
                copyEntry(prefix + name);
        }
        ::closedir(entries);
        return true;
    }

    /// What can't be bound (no permission, gone meanwhile) is left out: the container misses it as a stranger
    /// would.
    void copyEntry(const std::string &path)
    {
        struct stat status
        {
        };
        if (::lstat(path.c_str(), &status) != 0)
            return;
        const std::string place = m_root + path;
        if (S_ISLNK(status.st_mode)) {
            char buffer[PATH_MAX];
            const ssize_t size = ::readlink(path.c_str(), buffer, sizeof buffer - 1);
            if (size > 0) {
                buffer[size] = '\0';
                (void)!::symlink(buffer, place.c_str());
            }
            return;
        }
        const bool isMade = S_ISDIR(status.st_mode) ? ::mkdir(place.c_str(), 0755) == 0 : touch(place);
        if (isMade && ::mount(path.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
            S_ISDIR(status.st_mode) ? ::rmdir(place.c_str()) : ::unlink(place.c_str());
    }

    std::string m_root;
    std::set<std::string> m_covered, m_made;
};

} // namespace

bool makeNamespaces(bool mounts, bool processes)
{
    const int wanted = (mounts ? CLONE_NEWNS | CLONE_NEWUTS : 0) | (processes ? CLONE_NEWPID : 0);
    if (wanted == 0)
        return true;
    const uid_t user = ::getuid();
    const gid_t group = ::getgid();
    if (::geteuid() != 0 || ::unshare(wanted) != 0) {
        if (::unshare(wanted | CLONE_NEWUSER) != 0)
            return false;
        const std::string userMap = std::to_string(user) + " " + std::to_string(user) + " 1";
        const std::string groupMap = std::to_string(group) + " " + std::to_string(group) + " 1";
        writeText("/proc/self/setgroups", "deny");
        if (!writeText("/proc/self/uid_map", userMap) || !writeText("/proc/self/gid_map", groupMap))
            return false;
    }
    return !mounts || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

std::string buildRoot(const std::string &root, const std::vector<LaunchMount> &mounts)
{
    RootBuilder builder(root);
    if (!builder.begin())
        return builder.error;
    for (const LaunchMount &mount : mounts) {
        if (!builder.bind(mount))
            return builder.error;
    }
    return {};
}

} // namespace cluster::local
