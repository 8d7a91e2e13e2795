#include "cluster/modelstore/bert_to_gguf.h"

#include "cluster/modelstore/gguf_writer.h"
#include "cluster/modelstore/safetensors.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace cluster {

namespace {

using Json = nlohmann::json;

tl::unexpected<Error> unfit(const std::string &why)
{
    return fail(ErrorCode::DataLoss, "this BERT model can't be converted: " + why);
}

// llama.cpp's token types
constexpr std::int32_t normalToken = 1;
constexpr std::int32_t controlToken = 3;
constexpr std::int32_t unusedToken = 5;

constexpr std::uint32_t meanPooling = 1;
constexpr std::uint32_t mostlyF16 = 1;

struct Vocabulary
{
    std::vector<std::string> pieces; ///< as in the file
    std::vector<std::string> tokens; ///< as llama.cpp wants them
    std::vector<std::int32_t> types;

    [[nodiscard]] std::optional<std::uint32_t> idOf(std::string_view piece) const
    {
        const auto found = std::ranges::find(pieces, piece);
        return found == pieces.end() ? std::nullopt
                                     : std::optional(static_cast<std::uint32_t>(found - pieces.begin()));
    }
};

/// Word pieces lose their "##"; what begins a word gets U+2581 in front.
Vocabulary readVocabulary(std::string_view text)
{
    Vocabulary vocabulary;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string piece(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        const bool isControl = piece == "[PAD]" || piece == "[UNK]" || piece == "[CLS]" || piece == "[SEP]"
            || piece == "[MASK]";
        const bool isUnused = piece.starts_with("[unused");
        if (isControl || isUnused)
            vocabulary.tokens.push_back(piece);
        else
            vocabulary.tokens.push_back(piece.starts_with("##") ? piece.substr(2) : "\xE2\x96\x81" + piece);
        vocabulary.types.push_back(isControl ? controlToken : isUnused ? unusedToken : normalToken);
        vocabulary.pieces.push_back(piece);
    }
    return vocabulary;
}

const std::map<std::string, std::string, std::less<>> &tensorNames()
{
    static const std::map<std::string, std::string, std::less<>> names = {
        {"embeddings.word_embeddings", "token_embd"},
        {"embeddings.token_type_embeddings", "token_types"},
        {"embeddings.position_embeddings", "position_embd"},
        {"embeddings.LayerNorm", "token_embd_norm"},
        {"attention.self.query", "attn_q"},
        {"attention.self.key", "attn_k"},
        {"attention.self.value", "attn_v"},
        {"attention.output.dense", "attn_output"},
        {"attention.output.LayerNorm", "attn_output_norm"},
        {"intermediate.dense", "ffn_up"},
        {"output.dense", "ffn_down"},
        {"output.LayerNorm", "layer_output_norm"},
    };
    return names;
}

/// "encoder.layer.3.output.dense.weight" -> "blk.3.ffn_down.weight"; empty where the name is unknown.
std::string ggufName(std::string_view name)
{
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos)
        return {};
    const std::string_view kind = name.substr(dot);
    std::string_view place = name.substr(0, dot);
    std::string prefix;
    constexpr std::string_view layers = "encoder.layer.";
    if (place.starts_with(layers)) {
        place.remove_prefix(layers.size());
        const std::size_t end = place.find('.');
        prefix = "blk." + std::string(place.substr(0, end)) + ".";
        place.remove_prefix(end == std::string_view::npos ? place.size() : end + 1);
    }
    const auto found = tensorNames().find(place);
    return found == tensorNames().end() ? std::string() : prefix + found->second + std::string(kind);
}

struct Converted
{
    SafeTensor tensor;
    bool isSingle = false;
};

Status addKeys(GgufWriter &writer, const Json &config, const Vocabulary &vocabulary)
{
    const auto count = [&](const char *key) { return config.at(key).get<std::uint32_t>(); };
    writer.addCount("bert.block_count", count("num_hidden_layers"));
    writer.addCount("bert.context_length", count("max_position_embeddings"));
    writer.addCount("bert.embedding_length", count("hidden_size"));
    writer.addCount("bert.feed_forward_length", count("intermediate_size"));
    writer.addCount("bert.attention.head_count", count("num_attention_heads"));
    writer.addNumber("bert.attention.layer_norm_epsilon",
                     static_cast<float>(config.at("layer_norm_eps").get<double>()));
    writer.addFlag("bert.attention.causal", false);
    writer.addCount("bert.pooling_type", meanPooling);
    writer.addCount("general.file_type", mostlyF16);
    writer.addText("tokenizer.ggml.model", "bert");
    writer.addText("tokenizer.ggml.pre", "default");
    writer.addTexts("tokenizer.ggml.tokens", vocabulary.tokens);
    writer.addIntegers("tokenizer.ggml.token_type", vocabulary.types);
    writer.addCount("tokenizer.ggml.token_type_count", count("type_vocab_size"));
    const std::pair<const char *, const char *> special[] = {
        {"unknown_token_id", "[UNK]"}, {"seperator_token_id", "[SEP]"}, {"padding_token_id", "[PAD]"},
        {"bos_token_id", "[CLS]"},     {"eos_token_id", "[SEP]"},       {"mask_token_id", "[MASK]"},
    };
    for (const auto &[key, piece] : special) {
        const auto id = vocabulary.idOf(piece);
        if (!id)
            return unfit(std::string("its vocabulary has no ") + piece);
        writer.addCount(std::string("tokenizer.ggml.") + key, *id);
    }
    writer.addFlag("tokenizer.ggml.add_bos_token", true);
    writer.addFlag("tokenizer.ggml.add_eos_token", true);
    if (vocabulary.tokens.size() != config.at("vocab_size").get<std::size_t>())
        return unfit("its vocabulary has " + std::to_string(vocabulary.tokens.size())
                     + " words, the configuration says " + config.at("vocab_size").dump());
    return {};
}

Result<std::vector<Converted>> addTensors(GgufWriter &writer, std::string_view weights)
{
    const Result<std::vector<SafeTensor>> tensors = readSafetensors(weights);
    if (!tensors)
        return tl::unexpected(tensors.error());
    std::vector<Converted> converted;
    for (const SafeTensor &tensor : *tensors) {
        if (tensor.name.starts_with("pooler") || tensor.name.find("position_ids") != std::string::npos)
            continue;
        const std::string name = ggufName(tensor.name);
        if (name.empty())
            return unfit("it has a tensor that BERT has not: " + tensor.name);
        const bool isSingle
            = tensor.shape.size() < 2 || name.starts_with("token_types") || name.starts_with("position_embd");
        const std::vector<std::uint64_t> shape(tensor.shape.rbegin(), tensor.shape.rend());
        writer.addTensor(name, shape, isSingle ? GgufWriter::TensorType::F32 : GgufWriter::TensorType::F16);
        converted.push_back({tensor, isSingle});
    }
    return converted;
}

} // namespace

Status writeBertAsGguf(const BertModelFiles &files, const std::string &name, const std::string &licence,
                       const std::function<Status(std::string_view)> &sink)
{
    const Json config = Json::parse(files.config, nullptr, false);
    if (!config.is_object())
        return unfit("its config.json is not a JSON object");
    const Vocabulary vocabulary = readVocabulary(files.vocabulary);
    GgufWriter writer;
    writer.addText("general.architecture", "bert");
    writer.addText("general.name", name);
    writer.addText("general.license", licence);
    try {
        if (auto added = addKeys(writer, config, vocabulary); !added)
            return added;
    } catch (const Json::exception &exception) {
        return unfit(std::string("its config.json lacks something: ") + exception.what());
    }
    const Result<std::vector<Converted>> tensors = addTensors(writer, files.weights);
    if (!tensors)
        return tl::unexpected(tensors.error());
    if (auto written = writer.writeHead(sink); !written)
        return written;
    for (const Converted &item : *tensors) {
        const std::string bytes = item.isSingle ? asFloat32(item.tensor) : asFloat16(item.tensor);
        if (auto written = writer.writeTensor(bytes, sink); !written)
            return written;
    }
    return {};
}

} // namespace cluster
