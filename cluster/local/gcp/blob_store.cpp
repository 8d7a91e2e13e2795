#include "cluster/local/gcp/blob_store.h"

#include "cluster/local/gcp/wire_values.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cluster::local {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = std::size_t{1} << 20;

tl::unexpected<Error> fileError(const char *doing, int number)
{
    const std::string text
        = std::string("An object's bytes could not be ") + doing + " (" + std::strerror(number) + ")";
    switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return fail(ErrorCode::ResourceExhausted,
                    text + ": the disk of this machine is full. Make room, or delete objects.");
    case ENOENT:
        return fail(ErrorCode::NotFound, text + ": they are gone from this machine's disk.");
    case EACCES:
    case EPERM:
    case EROFS:
        return fail(ErrorCode::PermissionDenied, text + ": see who owns the local target's folder.");
    default:
        return fail(ErrorCode::Internal, text + ": see to this machine's disk.");
    }
}

/// An open file; closed at the end of the scope.
class File
{
public:
    File(const fs::path &path, int flags) : m_descriptor(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
    ~File()
    {
        if (m_descriptor >= 0)
            ::close(m_descriptor);
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    [[nodiscard]] bool isOpen() const { return m_descriptor >= 0; }
    [[nodiscard]] int descriptor() const { return m_descriptor; }

private:
    int m_descriptor;
};

bool isId(const std::string &id)
{
    return id.size() == 32 && id.find_first_not_of("0123456789abcdef") == std::string::npos;
}

} // namespace

Status BlobStore::open()
{
    std::error_code error;
    fs::create_directories(m_folder, error);
    if (error)
        return fileError("given a folder", error.value());
    if (::chmod(m_folder.c_str(), 0700) != 0)
        return fileError("given a folder", errno);
    return {};
}

Status BlobStore::sweep(const std::set<std::string> &kept)
{
    std::error_code error;
    fs::directory_iterator entries(m_folder, error);
    if (error)
        return fileError("looked through", error.value());
    for (const auto &entry : entries) {
        const std::string name = entry.path().filename().string();
        if (isId(name) && !kept.contains(name))
            fs::remove(entry.path(), error); // what can't go now goes the next time
    }
    return {};
}

Result<fs::path> BlobStore::pathOf(const std::string &id) const
{
    if (!isId(id))
        return fail(ErrorCode::InvalidArgument, "'" + id + "' names no stored bytes");
    return m_folder / id;
}

Result<std::string> BlobStore::create()
{
    std::string id = randomHex(32);
    const File file(m_folder / id, O_RDWR | O_CREAT | O_EXCL);
    if (!file.isOpen())
        return fileError("stored", errno);
    return id;
}

Status BlobStore::write(const std::string &id, std::uint64_t offset, std::string_view bytes)
{
    const auto path = pathOf(id);
    if (!path)
        return tl::unexpected(path.error());
    const File file(*path, O_WRONLY);
    if (!file.isOpen())
        return fileError("stored", errno);
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t count = ::pwrite(file.descriptor(), bytes.data() + done, bytes.size() - done,
                                       static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            const int number = errno;
            // What was written of it is on the disk; it must not be taken for the client's next bytes.
            if (::ftruncate(file.descriptor(), static_cast<off_t>(offset)) != 0)
                return fileError("cut back", errno);
            return fileError("stored", number);
        }
        done += static_cast<std::size_t>(count);
    }
    return {};
}

Status BlobStore::truncate(const std::string &id, std::uint64_t size)
{
    const auto path = pathOf(id);
    if (!path)
        return tl::unexpected(path.error());
    if (::truncate(path->c_str(), static_cast<off_t>(size)) != 0)
        return fileError("cut back", errno);
    return {};
}

Status BlobStore::flush(const std::string &id)
{
    const auto path = pathOf(id);
    if (!path)
        return tl::unexpected(path.error());
    const File file(*path, O_RDONLY);
    if (!file.isOpen() || ::fsync(file.descriptor()) != 0)
        return fileError("flushed to disk", errno);
    const File folder(m_folder, O_RDONLY | O_DIRECTORY);
    if (!folder.isOpen() || ::fsync(folder.descriptor()) != 0)
        return fileError("flushed to disk", errno);
    return {};
}

Result<std::uint64_t> BlobStore::size(const std::string &id) const
{
    const auto path = pathOf(id);
    if (!path)
        return tl::unexpected(path.error());
    struct stat info
    {
    };
    if (::stat(path->c_str(), &info) != 0)
        return fileError("found", errno);
    return static_cast<std::uint64_t>(info.st_size);
}

Result<std::string> BlobStore::read(const std::string &id, std::uint64_t offset, std::size_t length) const
{
    const auto path = pathOf(id);
    if (!path)
        return tl::unexpected(path.error());
    const File file(*path, O_RDONLY);
    if (!file.isOpen())
        return fileError("read", errno);
    std::string bytes(length, '\0');
    std::size_t done = 0;
    while (done < length) {
        const ssize_t count = ::pread(file.descriptor(), bytes.data() + done, length - done,
                                      static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fileError("read", errno);
        if (count == 0)
            break;
        done += static_cast<std::size_t>(count);
    }
    bytes.resize(done);
    return bytes;
}

Status BlobStore::scan(const std::string &id, const std::function<bool(std::string_view)> &onPiece) const
{
    for (std::uint64_t offset = 0;; offset += kPiece) {
        const auto piece = read(id, offset, kPiece);
        if (!piece)
            return tl::unexpected(piece.error());
        if (!piece->empty() && !onPiece(*piece))
            return {};
        if (piece->size() < kPiece)
            return {};
    }
}

Result<std::string> BlobStore::duplicate(const std::string &id)
{
    const auto path = pathOf(id);
    if (!path)
        return tl::unexpected(path.error());
    std::string other = randomHex(32);
    if (::link(path->c_str(), (m_folder / other).c_str()) != 0)
        return fileError("copied", errno);
    return other;
}

Status BlobStore::remove(const std::string &id)
{
    const auto path = pathOf(id);
    if (!path)
        return tl::unexpected(path.error());
    if (::unlink(path->c_str()) != 0 && errno != ENOENT)
        return fileError("removed", errno);
    return {};
}

} // namespace cluster::local
