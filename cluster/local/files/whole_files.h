#pragma once

#include "cluster/base/result.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace cluster::local {

/// A folder that only its owner may enter (0700), with its parents. Errors: PermissionDenied,
/// ResourceExhausted (full), FailedPrecondition (it is somebody else's, or no folder).
[[nodiscard]] Status makePrivateFolder(const std::filesystem::path &folder);

/// Replaces a file by way of a new one beside it that is synced first, mode 0600: after a crash, or on a full
/// disk, it is the old or the new one.
[[nodiscard]] Status writeWholeFile(const std::filesystem::path &path, std::string_view text);

/// Errors: NotFound, PermissionDenied, ResourceExhausted (over `limit` bytes).
[[nodiscard]] Result<std::string> readWholeFile(const std::filesystem::path &path,
                                                std::size_t limit = std::size_t{16} << 20);

} // namespace cluster::local
