#pragma once

#include "cluster/base/result.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace cluster::local {

/// A folder that only its owner may enter (0700), with its parents.
Status makePrivateFolder(const std::filesystem::path &dir);

/// The whole file appears or none (written beside, synced, renamed); mode 0600.
Status writePrivateFile(const std::filesystem::path &file, std::string_view content);

/// NotFound where there is none.
Result<std::string> readPrivateFile(const std::filesystem::path &file);

} // namespace cluster::local
