#include "cluster/modelstore/stored_model.h"

#include "cluster/modelstore/new_file.h"

#include <cctype>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace cluster {

namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

ModelKind kindOf(const std::string &text)
{
    for (const ModelKind kind : {ModelKind::Chat, ModelKind::Base, ModelKind::Embeddings}) {
        if (text == toString(kind))
            return kind;
    }
    return ModelKind::Unknown;
}

} // namespace

fs::path entryPath(const fs::path &folder, const std::string &name)
{
    return folder / (safeName(name) + ".json");
}

Status writeEntry(const fs::path &folder, const StoredModel &model)
{
    const OrderedJson json = {
        {"name", model.name},          {"kind", toString(model.kind)}, {"description", model.description},
        {"path", model.path.string()}, {"sha256", model.sha256},       {"licence", model.licence},
        {"bytes", model.bytes},        {"source", model.source},       {"owned", model.isOwned},
    };
    return writeWhole(entryPath(folder, model.name),
                      json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

Result<StoredModel> readEntry(const fs::path &file)
{
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    StoredModel model;
    try {
        const OrderedJson json = OrderedJson::parse(text);
        model.name = json.at("name").get<std::string>();
        model.kind = kindOf(json.value("kind", ""));
        model.description = json.value("description", "");
        model.path = json.at("path").get<std::string>();
        model.sha256 = json.value("sha256", "");
        model.licence = json.value("licence", "");
        model.bytes = json.value("bytes", std::uint64_t{0});
        model.source = json.value("source", "");
        model.isOwned = json.value("owned", false);
    } catch (const OrderedJson::exception &exception) {
        return fail(ErrorCode::DataLoss,
                    file.string() + " is damaged (" + exception.what()
                        + "): remove it and add the model again");
    }
    return model;
}

std::string safeName(std::string_view text)
{
    std::string name;
    for (const char c : text) {
        const bool isSafe = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
        name += isSafe ? c : '-';
    }
    return name.starts_with('.') ? "-" + name.substr(1) : name;
}

} // namespace cluster
