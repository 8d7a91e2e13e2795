#pragma once

#include "cluster/base/result.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace cluster::local {

/// Bytes on disk under names that this store makes up (32 hexadecimal digits): no user's name ever becomes a
/// path. Who keeps a blob's id keeps the blob; the rest is swept away at the next start.
///
/// Errors of all calls: ResourceExhausted (the disk is full), NotFound (no such blob), InvalidArgument (no id
/// of ours), PermissionDenied, Internal.
class BlobStore
{
public:
    explicit BlobStore(std::filesystem::path folder) : m_folder(std::move(folder)) {}

    Status open(); ///< makes the folder, mode 0700
    /// Removes all blobs but these. Call it before others use the store.
    Status sweep(const std::set<std::string> &kept);

    Result<std::string> create(); ///< an empty one, its id
    /// Writes at `offset`, which must not lie behind the end; not yet flushed. Nothing is left behind
    /// `offset` of a write that failed.
    Status write(const std::string &id, std::uint64_t offset, std::string_view bytes);
    Status truncate(const std::string &id, std::uint64_t size);
    Status flush(const std::string &id); ///< the bytes and the name are on the disk
    [[nodiscard]] Result<std::uint64_t> size(const std::string &id) const;
    /// At most `length` bytes from `offset`; fewer at the end.
    [[nodiscard]] Result<std::string> read(const std::string &id, std::uint64_t offset,
                                           std::size_t length) const;
    /// All bytes in pieces, until the handler returns false.
    [[nodiscard]] Status scan(const std::string &id,
                              const std::function<bool(std::string_view)> &onPiece) const;
    Result<std::string>
    duplicate(const std::string &id); ///< another name of the same bytes; blobs don't change
    Status remove(const std::string &id); ///< no error where it is gone already

    /// Where the bytes are, for those who open them as a file. Errors: InvalidArgument.
    [[nodiscard]] Result<std::filesystem::path> pathOf(const std::string &id) const;

private:
    std::filesystem::path m_folder;
};

} // namespace cluster::local
