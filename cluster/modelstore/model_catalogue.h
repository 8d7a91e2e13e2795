#pragma once

#include "cluster/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster {

enum class ModelKind { Unknown, Chat, Base, Embeddings };

std::string_view toString(ModelKind kind); ///< "chat", "base", "embeddings", "unknown"

/// A wheel of the Python package index, fixed by its hash.
struct WheelRequirement
{
    std::string name;
    std::string version;
    std::string sha256;
    std::uint64_t bytes = 0;
};

struct WheelPart
{
    std::string package;
    std::string path; ///< inside the wheel; of a licence file: the end of it
};

/// A model that this version of Slipway knows. See resources/models.yaml for the fields.
struct CatalogueModel
{
    std::string name;
    std::vector<std::string> aliases;
    ModelKind kind = ModelKind::Unknown;
    std::string description;
    std::string file;
    std::uint64_t bytes = 0;
    std::string sha256;
    std::string licence;
    std::string licenceNote;
    std::vector<WheelRequirement> packages;
    std::vector<WheelPart> parts;
    std::vector<WheelPart> licenceFiles;
    std::optional<WheelPart> bertFolder; ///< made from the BERT files in there instead of from `parts`
};

class ModelCatalogue
{
public:
    /// The one of resources/models.yaml, built in.
    static Result<ModelCatalogue> builtIn();
    /// Errors: InvalidArgument with the line that is wrong.
    static Result<ModelCatalogue> parse(const std::string &yaml);

    [[nodiscard]] const std::vector<CatalogueModel> &models() const { return m_models; }
    /// By name or alias; null where there is none.
    [[nodiscard]] const CatalogueModel *find(std::string_view name) const;

private:
    std::vector<CatalogueModel> m_models;
};

} // namespace cluster
