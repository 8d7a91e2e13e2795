#pragma once

#include "cluster/base/result.h"
#include "cluster/modelstore/sha256.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace cluster {

/// A file that appears under its name only when it is whole: written beside it as NAME.part, hashed on the
/// way, flushed to disk and renamed. Without commit() or keep() the part is removed again.
class NewFile
{
public:
    enum class Start { Fresh, Resume };

    /// Resume goes on behind what an earlier keep() left; those bytes are read once, for the hash.
    static Result<NewFile> create(std::filesystem::path path, Start start = Start::Fresh);
    NewFile(NewFile &&other) noexcept;
    NewFile &operator=(NewFile &&other) = delete;
    ~NewFile();

    [[nodiscard]] std::uintmax_t size() const { return m_size; }

    /// Errors: ResourceExhausted when the disk (or a quota) is full; then the part is removed at the end,
    /// whatever was asked for.
    Status write(std::string_view bytes);

    /// Errors: DataLoss if the SHA-256 is not the expected one (empty: not checked).
    /// Returns the SHA-256.
    Result<std::string> commit(const std::string &expectedSha256);

    /// Leaves the part for a later Resume.
    void keep() { m_isKept = true; }
    /// Back to an empty file.
    Status restart();

private:
    NewFile(std::filesystem::path path, int descriptor);

    std::filesystem::path m_path;
    std::filesystem::path m_partPath;
    int m_descriptor;
    std::uintmax_t m_size = 0;
    Sha256 m_hash;
    bool m_isKept = false;
    bool m_isFull = false;
};

/// The part file of `path`.
std::filesystem::path partPathOf(const std::filesystem::path &path);

/// Writes a small file whole or not at all.
Status writeWhole(const std::filesystem::path &path, std::string_view text);

/// Before a large download: ResourceExhausted, with both numbers, when the file system
/// of `folder` has less room than `bytes`.
Status checkRoom(const std::filesystem::path &folder, std::uintmax_t bytes);

} // namespace cluster
