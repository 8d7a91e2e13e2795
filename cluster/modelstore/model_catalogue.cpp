#include "cluster/modelstore/model_catalogue.h"

#include "cluster/modelstore/built_in_models.h"

#include <algorithm>
#include <yaml-cpp/yaml.h>

namespace cluster {

namespace {

std::string textAt(const YAML::Node &node, const char *key)
{
    return node[key] ? node[key].as<std::string>() : std::string();
}

std::string wanted(const YAML::Node &node, const char *key)
{
    std::string text = textAt(node, key);
    if (text.empty())
        throw YAML::Exception(node.Mark(), std::string("'") + key + "' is missing");
    return text;
}

std::string hashAt(const YAML::Node &node)
{
    constexpr std::size_t digitCount = 64;
    std::string hash = wanted(node, "sha256");
    if (hash.size() != digitCount || hash.find_first_not_of("0123456789abcdef") != std::string::npos)
        throw YAML::Exception(node.Mark(), "'sha256' is not 64 hexadecimal digits in lower case");
    return hash;
}

ModelKind kindAt(const YAML::Node &node)
{
    const std::string kind = wanted(node, "kind");
    for (const ModelKind known : {ModelKind::Chat, ModelKind::Base, ModelKind::Embeddings}) {
        if (kind == toString(known))
            return known;
    }
    throw YAML::Exception(node.Mark(), "'kind' is not chat, base or embeddings");
}

std::string packageAt(const YAML::Node &node, const CatalogueModel &model)
{
    std::string name = wanted(node, "package");
    if (std::ranges::none_of(model.packages, [&](const WheelRequirement &item) { return item.name == name; }))
        throw YAML::Exception(node.Mark(), "'package' is not one of the model's packages");
    return name;
}

CatalogueModel modelOf(const YAML::Node &node)
{
    CatalogueModel model;
    model.name = wanted(node, "name");
    for (const YAML::Node &alias : node["aliases"])
        model.aliases.push_back(alias.as<std::string>());
    model.kind = kindAt(node);
    model.description = textAt(node, "description");
    model.file = wanted(node, "file");
    if (model.file.find('/') != std::string::npos)
        throw YAML::Exception(node.Mark(), "'file' has a folder in it");
    model.bytes = node["bytes"].as<std::uint64_t>();
    model.sha256 = hashAt(node);
    model.licence = wanted(node, "licence");
    model.licenceNote = textAt(node, "licence_note");
    for (const YAML::Node &item : node["packages"])
        model.packages.push_back(
            {wanted(item, "name"), wanted(item, "version"), hashAt(item), item["bytes"].as<std::uint64_t>()});
    for (const YAML::Node &item : node["parts"])
        model.parts.push_back({packageAt(item, model), wanted(item, "path")});
    for (const YAML::Node &item : node["licence_files"])
        model.licenceFiles.push_back({packageAt(item, model), wanted(item, "suffix")});
    if (const YAML::Node convert = node["convert"]) {
        if (wanted(convert, "from") != "bert-safetensors")
            throw YAML::Exception(convert.Mark(), "'from' is not bert-safetensors");
        model.bertFolder = WheelPart{packageAt(convert, model), wanted(convert, "folder")};
    }
    if (model.parts.empty() && !model.bertFolder)
        throw YAML::Exception(node.Mark(), "neither 'parts' nor 'convert' says how to make the file");
    return model;
}

} // namespace

std::string_view toString(ModelKind kind)
{
    switch (kind) {
    case ModelKind::Chat:
        return "chat";
    case ModelKind::Base:
        return "base";
    case ModelKind::Embeddings:
        return "embeddings";
    case ModelKind::Unknown:
        break;
    }
    return "unknown";
}

Result<ModelCatalogue> ModelCatalogue::builtIn()
{
    return parse(builtInModelsYaml);
}

Result<ModelCatalogue> ModelCatalogue::parse(const std::string &yaml)
{
    ModelCatalogue catalogue;
    try {
        for (const YAML::Node &node : YAML::Load(yaml)["models"])
            catalogue.m_models.push_back(modelOf(node));
    } catch (const YAML::Exception &exception) {
        return fail(ErrorCode::InvalidArgument,
                    std::string("the model catalogue can't be read: ") + exception.what());
    }
    return catalogue;
}

const CatalogueModel *ModelCatalogue::find(std::string_view name) const
{
    for (const CatalogueModel &model : m_models) {
        if (model.name == name || std::ranges::find(model.aliases, name) != model.aliases.end())
            return &model;
    }
    return nullptr;
}

} // namespace cluster
