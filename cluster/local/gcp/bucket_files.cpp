#include "cluster/local/gcp/bucket_files.h"

#include "cluster/local/gcp/storage_folders.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::size_t kFilePiece = std::size_t{1} << 20;
constexpr int kConditionNotMet = 412, kDiskFull = 507;

tl::unexpected<Error> storeError(const GoogleError &error)
{
    ErrorCode code = error.code;
    if (error.httpStatus == kConditionNotMet)
        code = ErrorCode::FailedPrecondition;
    else if (error.httpStatus == kDiskFull)
        code = ErrorCode::ResourceExhausted;
    return fail(code, error.message);
}

Status failed(const char *what)
{
    const int number = errno;
    return fail(number == ENOSPC || number == EDQUOT ? ErrorCode::ResourceExhausted : ErrorCode::Internal,
                std::string("can't ") + what + ": " + std::strerror(number));
}

/// Whole extents where the file system can share them, else bytes.
Status copyBytes(int from, int to)
{
    for (;;) {
        const ssize_t count = ::copy_file_range(from, nullptr, to, nullptr, std::size_t{1} << 30, 0);
        if (count == 0)
            return {};
        if (count < 0 && errno != EINTR)
            break;
    }
    if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return failed("copy an object's bytes");
    std::array<char, 65536> buffer; // NOLINT: filled by read
    for (;;) {
        const ssize_t count = ::read(from, buffer.data(), buffer.size());
        if (count <= 0)
            return count == 0 ? Status{} : failed("read an object's bytes");
        for (ssize_t done = 0; done < count;) {
            const ssize_t written = ::write(to, buffer.data() + done, static_cast<std::size_t>(count - done));
            if (written < 0)
                return failed("write an object's bytes");
            done += written;
        }
    }
}

const char *typeOf(const std::string &object)
{
    if (object.ends_with(".json"))
        return "application/json";
    return object.ends_with(".txt") ? "text/plain" : "application/octet-stream";
}

} // namespace

std::uint64_t BucketFiles::changes() const
{
    return m_parts.context.documents.changes();
}

Result<BucketContent> BucketFiles::list(const std::string &bucket) const
{
    const auto there = findBucket(m_parts, bucket);
    if (!there)
        return storeError(there.error());
    BucketContent content;
    content.isHierarchical = isHierarchical(*there);
    const auto objects = m_parts.context.documents.list("storage/objects/" + bucket + "/");
    if (!objects)
        return tl::unexpected(objects.error());
    for (const Document &document : *objects) {
        const StoredObject object{document.value.at("resource"), {}};
        content.objects.push_back({object.name(), object.generation(), object.size()});
    }
    if (!content.isHierarchical)
        return content;
    const auto folders = m_parts.context.documents.list("storage/folders/" + bucket + "/");
    if (!folders)
        return tl::unexpected(folders.error());
    for (const Document &document : *folders)
        content.folders.push_back(document.value.value("name", std::string()));
    return content;
}

Status BucketFiles::copyTo(const std::string &bucket, const std::string &object, std::int64_t generation,
                           int file) const
{
    const auto found = m_parts.objects.find(bucket, object, generation);
    if (!found)
        return storeError(found.error());
    const auto path = m_parts.blobs.pathOf(found->blob);
    if (!path)
        return tl::unexpected(path.error());
    const int from = ::open(path->c_str(), O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return fail(ErrorCode::NotFound, "object " + object + " was replaced meanwhile");
    const Status copied = copyBytes(from, file);
    ::close(from);
    return copied;
}

Result<std::int64_t> BucketFiles::write(const std::string &bucket, const std::string &object, int file,
                                        std::int64_t replaced)
{
    const auto there = findBucket(m_parts, bucket);
    if (!there)
        return storeError(there.error());
    FaultContext here;
    here.service = "storage";
    if (m_parts.context.faults.find(FaultKind::DiskFull, here))
        return fail(ErrorCode::ResourceExhausted, "The disk of this machine is full (a fault on order).");
    const auto blob = m_parts.blobs.create();
    if (!blob)
        return tl::unexpected(blob.error());
    const auto store = [&]() -> Result<std::int64_t> {
        std::string piece(kFilePiece, '\0');
        for (std::uint64_t at = 0;;) {
            const ssize_t count = ::pread(file, piece.data(), piece.size(), static_cast<off_t>(at));
            if (count < 0)
                return tl::unexpected(failed("read a file for an object").error());
            if (count == 0)
                break;
            const Status written = m_parts.blobs.write(
                *blob, at, std::string_view(piece).substr(0, static_cast<std::size_t>(count)));
            if (!written)
                return tl::unexpected(written.error());
            at += static_cast<std::uint64_t>(count);
        }
        if (const Status flushed = m_parts.blobs.flush(*blob); !flushed)
            return tl::unexpected(flushed.error());
        ObjectConditions conditions;
        conditions.generation = replaced;
        const auto made = m_parts.objects.commit(bucket, object, {{"contentType", typeOf(object)}}, *blob,
                                                 conditions, keepsVersions(*there));
        if (!made)
            return storeError(made.error());
        return made->generation();
    };
    const auto generation = store();
    if (!generation) {
        (void)m_parts.blobs.remove(*blob); // else swept at the next start
        return generation;
    }
    if (const auto foldered = makeParentFolders(m_parts, *there, object); !foldered)
        return storeError(foldered.error());
    return generation;
}

Status BucketFiles::remove(const std::string &bucket, const std::string &object, std::int64_t generation)
{
    const auto there = findBucket(m_parts, bucket);
    if (!there)
        return storeError(there.error());
    ObjectConditions conditions;
    conditions.generation = generation;
    const auto removed = m_parts.objects.remove(bucket, object, {}, conditions, keepsVersions(*there));
    return removed ? Status{} : storeError(removed.error());
}

Status BucketFiles::makeFolder(const std::string &bucket, const std::string &folder)
{
    const auto there = findBucket(m_parts, bucket);
    if (!there)
        return storeError(there.error());
    if (const auto valid = checkObjectName(folder); !valid)
        return storeError(valid.error());
    // What is above a name in the folder: the folder itself, and those above that.
    const auto made = makeParentFolders(m_parts, *there, folder);
    return made ? Status{} : storeError(made.error());
}

Status BucketFiles::removeFolder(const std::string &bucket, const std::string &folder)
{
    auto &documents = m_parts.context.documents;
    const auto below = documents.list("storage/folders/" + bucket + "/" + folder, {}, 2);
    const auto objects = documents.list("storage/objects/" + bucket + "/" + folder, {}, 1);
    if (!below || !objects)
        return tl::unexpected(below ? objects.error() : below.error());
    if (below->size() > 1 || !objects->empty())
        return fail(ErrorCode::FailedPrecondition, "The folder you tried to delete is not empty.");
    return documents.remove("storage/folders/" + bucket + "/" + folder);
}

} // namespace cluster::local
