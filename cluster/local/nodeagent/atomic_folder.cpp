#include "cluster/local/nodeagent/atomic_folder.h"

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

Status failed(const std::string &what, const fs::path &path, int number)
{
    return fail(ErrorCode::Internal, "can't " + what + " '" + path.string() + "': " + std::strerror(number));
}

Status writeFile(const fs::path &path, const FolderFile &file)
{
    const int handle = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, file.mode);
    if (handle < 0)
        return failed("write", path, errno);
    std::size_t done = 0;
    while (done < file.content.size()) {
        const ssize_t count = ::write(handle, file.content.data() + done, file.content.size() - done);
        if (count < 0) {
            const int number = errno;
            ::close(handle);
            return failed("write", path, number);
        }
        done += static_cast<std::size_t>(count);
    }
    ::fchmod(handle, file.mode); // the umask doesn't count
    ::close(handle);
    return {};
}

bool holds(const fs::path &folder, const FolderContent &content)
{
    std::error_code error;
    std::size_t count = 0;
    for (const auto &entry : fs::recursive_directory_iterator(folder, error))
        count += entry.is_regular_file(error) ? 1 : 0;
    if (error || count != content.size())
        return false;
    for (const auto &[path, file] : content) {
        std::ifstream stream(folder / path, std::ios::binary);
        std::stringstream text;
        text << stream.rdbuf();
        struct stat status
        {
        };
        if (!stream || text.str() != file.content || ::stat((folder / path).c_str(), &status) != 0
            || (status.st_mode & 07777) != file.mode)
            return false;
    }
    return true;
}

/// Links for the first parts of all paths; those that are no longer wanted go.
void updateLinks(const fs::path &folder, const FolderContent &content)
{
    std::error_code error;
    std::set<std::string> wanted;
    for (const auto &[path, file] : content)
        wanted.insert(path.substr(0, path.find('/')));
    for (const std::string &name : wanted) {
        if (!fs::is_symlink(folder / name, error))
            fs::create_symlink(fs::path("..data") / name, folder / name, error);
    }
    for (const fs::directory_entry &entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with("..") && !wanted.contains(name))
            fs::remove(entry.path(), error);
    }
}

} // namespace

bool isSafeName(const std::string &name)
{
    return !name.empty() && name.size() < 256 && !name.starts_with("..") && name != "."
        && name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

bool isInnerPath(const std::string &path)
{
    if (path.empty() || path.size() > 4096)
        return false;
    std::size_t begin = 0;
    while (begin <= path.size()) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        if (!isSafeName(path.substr(begin, end - begin)))
            return false;
        begin = end + 1;
    }
    return true;
}

Status writeFolder(const fs::path &folder, const FolderContent &content)
{
    for (const auto &[path, file] : content) {
        if (!isInnerPath(path))
            return fail(ErrorCode::InvalidArgument, "'" + path + "' is no path inside a volume");
    }
    std::error_code error;
    fs::create_directories(folder, error);
    const fs::path link = folder / "..data";
    const fs::path old = fs::is_symlink(link, error) ? folder / fs::read_symlink(link, error) : fs::path();
    if (!old.empty() && holds(old, content))
        return {};
    std::string pattern = (folder / "..XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
        return failed("make a folder in", folder, errno);
    const fs::path fresh = pattern;
    ::chmod(fresh.c_str(), 0755);
    for (const auto &[path, file] : content) {
        fs::create_directories((fresh / path).parent_path(), error);
        if (auto written = writeFile(fresh / path, file); !written) {
            fs::remove_all(fresh, error);
            return written;
        }
    }
    const fs::path temporary = folder / "..data_tmp";
    fs::remove(temporary, error);
    fs::create_directory_symlink(fresh.filename(), temporary, error);
    if (::rename(temporary.c_str(), link.c_str()) != 0)
        return failed("replace", link, errno);
    updateLinks(folder, content);
    if (!old.empty())
        fs::remove_all(old, error);
    return {};
}

} // namespace cluster::local
