#include "cluster/modelstore/new_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cluster {

namespace {

namespace fs = std::filesystem;

Error fileError(const fs::path &path, const char *doing, int number)
{
    const std::string where
        = std::string(doing) + " " + path.string() + " failed (" + std::strerror(number) + ")";
    if (number == ENOSPC || number == EDQUOT || number == EFBIG)
        return {ErrorCode::ResourceExhausted,
                where + ": make room on that disk, or set SLIPWAY_CACHE to another"};
    if (number == EACCES || number == EPERM || number == EROFS)
        return {ErrorCode::PermissionDenied,
                where + ": check who owns the folder, or set SLIPWAY_CACHE to another"};
    return {ErrorCode::Unknown, where + ": check the disk"};
}

std::string inMegabytes(std::uintmax_t bytes)
{
    return std::to_string((bytes + 999999) / 1000000) + " MB";
}

} // namespace

fs::path partPathOf(const fs::path &path)
{
    return path.string() + ".part";
}

NewFile::NewFile(fs::path path, int descriptor)
    : m_path(std::move(path)), m_partPath(partPathOf(m_path)), m_descriptor(descriptor)
{
}

NewFile::NewFile(NewFile &&other) noexcept
    : m_path(std::move(other.m_path)), m_partPath(std::move(other.m_partPath)),
      m_descriptor(std::exchange(other.m_descriptor, -1)), m_size(other.m_size),
      m_hash(std::move(other.m_hash)), m_isKept(other.m_isKept), m_isFull(other.m_isFull)
{
}

NewFile::~NewFile()
{
    if (m_descriptor < 0)
        return;
    ::close(m_descriptor);
    if (!m_isKept || m_isFull)
        ::unlink(m_partPath.c_str());
}

Result<NewFile> NewFile::create(fs::path path, Start start)
{
    std::error_code ignored; // open() tells it better
    fs::create_directories(path.parent_path(), ignored);
    const int fresh = start == Start::Fresh ? O_TRUNC : 0;
    const fs::path part = partPathOf(path);
    const int descriptor = ::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | fresh, 0644);
    if (descriptor < 0)
        return tl::unexpected(fileError(part, "creating", errno));
    NewFile file(std::move(path), descriptor);
    std::vector<char> buffer(std::size_t{1} << 20);
    while (true) {
        const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
        if (count < 0)
            return tl::unexpected(fileError(part, "reading", errno));
        if (count == 0)
            return file;
        file.m_hash.add({buffer.data(), static_cast<std::size_t>(count)});
        file.m_size += static_cast<std::uintmax_t>(count);
    }
}

Status NewFile::write(std::string_view bytes)
{
    m_hash.add(bytes);
    while (!bytes.empty()) {
        const ssize_t count = ::write(m_descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            const Error error = fileError(m_partPath, "writing", errno);
            m_isFull = error.code == ErrorCode::ResourceExhausted;
            return tl::unexpected(error);
        }
        m_size += static_cast<std::uintmax_t>(count);
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

Status NewFile::restart()
{
    if (::ftruncate(m_descriptor, 0) != 0 || ::lseek(m_descriptor, 0, SEEK_SET) != 0)
        return tl::unexpected(fileError(m_partPath, "emptying", errno));
    m_size = 0;
    m_hash = Sha256();
    return {};
}

Result<std::string> NewFile::commit(const std::string &expectedSha256)
{
    m_isKept = false;
    std::string found = m_hash.hex();
    if (!expectedSha256.empty() && found != expectedSha256)
        return fail(ErrorCode::DataLoss,
                    m_path.filename().string() + ": SHA-256 is " + found + ", expected " + expectedSha256
                        + ": it was not kept; fetch it again");
    if (::fsync(m_descriptor) != 0)
        return tl::unexpected(fileError(m_partPath, "writing", errno));
    ::close(std::exchange(m_descriptor, -1));
    if (::rename(m_partPath.c_str(), m_path.c_str()) != 0) {
        const Error error = fileError(m_path, "naming", errno);
        ::unlink(m_partPath.c_str());
        return tl::unexpected(error);
    }
    return found;
}

Status writeWhole(const fs::path &path, std::string_view text)
{
    Result<NewFile> file = NewFile::create(path);
    if (!file)
        return tl::unexpected(file.error());
    if (auto written = file->write(text); !written)
        return written;
    return file->commit({}).map([](const std::string &) {});
}

Status checkRoom(const fs::path &folder, std::uintmax_t bytes)
{
    std::error_code error;
    fs::create_directories(folder, error);
    const fs::space_info room = fs::space(folder, error);
    if (error || room.available >= bytes)
        return {};
    return fail(ErrorCode::ResourceExhausted,
                folder.string() + " has room for " + inMegabytes(room.available) + ", but "
                    + inMegabytes(bytes)
                    + " are needed: make room on that disk, or set SLIPWAY_CACHE to another");
}

} // namespace cluster
