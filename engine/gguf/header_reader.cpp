#include "engine/gguf/header_reader.h"

#include "engine/gguf/metadata.h"
#include "engine/gguf/tensor_types.h"
#include <array>
#include <bit>
#include <limits>
#include <set>

namespace engine {
namespace {

constexpr std::array magic{'G', 'G', 'U', 'F'};
constexpr std::uint64_t maxTensorNameBytes = 1024;
constexpr std::uint32_t maxDimensions = 4;
constexpr std::uint64_t smallestTensorInfo = 8 + 1 + 4 + 8 + 4 + 8;
constexpr std::int64_t maxLayers = 512; // libllama aborts above
constexpr std::int64_t defaultAlignment = 32;
constexpr std::int64_t maxAlignment = 1 << 20;

std::string number(std::uint64_t value)
{
    return std::to_string(value);
}

void readMagicAndVersion(ByteReader &reader, GgufFacts &facts)
{
    for (const char letter : magic) {
        if (reader.read<char>("the magic number") != letter)
            throw GgufProblem{"the magic number is not 'GGUF': this is no GGUF file", 0};
    }
    facts.version = reader.read<std::uint32_t>("the version");
    if (facts.version != 0 && (facts.version & 0xFFFFU) == 0)
        throw GgufProblem{"the file is big-endian; convert it to little-endian", magic.size()};
    if (facts.version != 2 && facts.version != 3)
        throw GgufProblem{"version " + number(facts.version) + " is not supported (2 and 3 are)",
                          magic.size()};
}

std::int64_t alignmentOf(const Metadata &metadata)
{
    const auto *entry = metadata.find("general.alignment");
    if (entry == nullptr)
        return defaultAlignment;
    const std::int64_t alignment = metadata.integer("general.alignment").value_or(0);
    if (alignment <= 0 || alignment > maxAlignment
        || !std::has_single_bit(static_cast<std::uint64_t>(alignment)))
        throw GgufProblem{"general.alignment is " + std::to_string(alignment) + ", not a power of two up to "
                              + std::to_string(maxAlignment),
                          entry->offset};
    return alignment;
}

std::uint64_t roundUp(std::uint64_t value, std::uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment; // both far below 2^63
}

/// Reads tensor infos one after the other, adding up what they take.
class TensorTable
{
public:
    TensorTable(ByteReader &reader, GgufFacts &facts, std::uint64_t alignment)
        : m_reader(reader), m_facts(facts), m_alignment(alignment)
    {
    }

    void readAll()
    {
        if (m_facts.tensorCount > m_reader.left() / smallestTensorInfo)
            throw GgufProblem{"the header claims " + number(m_facts.tensorCount)
                                  + " tensors, more than the file can hold",
                              8};
        for (std::uint64_t i = 0; i < m_facts.tensorCount; ++i)
            readOne();
        m_facts.headerBytes = roundUp(m_reader.offset(), m_alignment);
        m_facts.tensorBytes = m_end;
        const std::uint64_t needed = m_facts.headerBytes + m_end; // each below 2^63
        if (m_facts.tensorCount > 0 && needed - m_padding > m_facts.fileBytes)
            throw GgufProblem{"the file is cut off: its tensors need " + number(needed - m_padding)
                                  + " bytes, it has " + number(m_facts.fileBytes) + "; fetch it again",
                              m_facts.fileBytes};
    }

private:
    ByteReader &m_reader;
    GgufFacts &m_facts;
    std::uint64_t m_alignment;
    std::uint64_t m_end = 0; ///< Of the tensors so far, padded, relative to the first.
    std::uint64_t m_padding = 0; ///< Of the last tensor; may be missing in the file.
    std::set<std::string> m_names;

    std::uint64_t readShape(const std::string &name, std::uint64_t &rowLength)
    {
        const std::uint64_t start = m_reader.offset();
        const auto dimensions = m_reader.read<std::uint32_t>("a tensor's shape");
        if (dimensions == 0 || dimensions > maxDimensions)
            throw GgufProblem{"the tensor '" + name + "' has " + number(dimensions) + " dimensions (1 to "
                                  + number(maxDimensions) + " are possible)",
                              start};
        std::uint64_t values = 1;
        for (std::uint32_t i = 0; i < dimensions; ++i) {
            const std::uint64_t at = m_reader.offset();
            const auto length = m_reader.read<std::uint64_t>("a tensor's shape");
            if (length == 0)
                throw GgufProblem{"dimension " + number(i + 1) + " of the tensor '" + name + "' is 0", at};
            if (length > std::numeric_limits<std::int64_t>::max()
                || __builtin_mul_overflow(values, length, &values)
                || values > std::numeric_limits<std::int64_t>::max() / 8)
                throw GgufProblem{"the tensor '" + name + "' is larger than any memory (dimension "
                                      + number(i + 1) + " is " + number(length) + ")",
                                  at};
            if (i == 0)
                rowLength = length;
        }
        return values;
    }

    void readOne()
    {
        const std::uint64_t start = m_reader.offset();
        const std::string name = m_reader.readText("a tensor's name", maxTensorNameBytes);
        if (!m_names.insert(name).second)
            throw GgufProblem{"the tensor '" + name + "' appears twice", start};
        std::uint64_t rowLength = 0;
        const std::uint64_t values = readShape(name, rowLength);
        const std::uint64_t typeAt = m_reader.offset();
        const auto typeNumber = m_reader.read<std::uint32_t>("a tensor's type");
        const TensorType *type = tensorType(typeNumber);
        if (type == nullptr)
            throw GgufProblem{"the tensor '" + name + "' has the unknown type " + number(typeNumber), typeAt};
        if (rowLength % type->blockValues != 0)
            throw GgufProblem{"the rows of the tensor '" + name + "' have " + number(rowLength)
                                  + " values, not a multiple of " + number(type->blockValues) + " as "
                                  + type->name + " needs",
                              typeAt};
        placeTensor(name, values / type->blockValues * type->blockBytes);
        ++m_facts.tensorTypes[type->name];
        m_facts.parameterCount += values;
    }

    void placeTensor(const std::string &name, std::uint64_t bytes)
    {
        const std::uint64_t at = m_reader.offset();
        const auto offset = m_reader.read<std::uint64_t>("a tensor's offset");
        if (offset != m_end)
            throw GgufProblem{"the tensor '" + name + "' is said to lie at " + number(offset)
                                  + " of the data, expected " + number(m_end),
                              at};
        if (bytes > m_facts.fileBytes || m_end > m_facts.fileBytes) // keeps the sums far from overflow
            throw GgufProblem{"the file is cut off: the tensor '" + name + "' needs " + number(bytes)
                                  + " bytes from " + number(m_end) + " of the data on, the file has "
                                  + number(m_facts.fileBytes) + "; fetch it again",
                              at};
        const std::uint64_t padded = roundUp(bytes, m_alignment);
        m_padding = padded - bytes;
        m_end += padded;
    }
};

/// Integers under the architecture's name.
class ModelKeys
{
public:
    ModelKeys(const Metadata &metadata, std::string architecture)
        : m_metadata(metadata), m_prefix(std::move(architecture) + '.')
    {
    }

    [[nodiscard]] std::int64_t optional(const char *key) const
    {
        return m_metadata.integer(m_prefix + key).value_or(0);
    }

    /// Where the key is there, it must be at least 1 (for an array: each of its values at least 0, one
    /// above).
    [[nodiscard]] std::int64_t positive(const char *key, bool required) const
    {
        const auto *entry = m_metadata.find(m_prefix + key);
        if (entry == nullptr) {
            if (required)
                throw GgufProblem{"the key '" + m_prefix + key + "' is missing", 0};
            return 0;
        }
        const auto value = m_metadata.integer(m_prefix + key);
        if (!value || *value <= 0)
            throw GgufProblem{"'" + m_prefix + key + "' is " + (value ? std::to_string(*value) : "no integer")
                                  + ", it must be at least 1",
                              entry->offset};
        if (*value > std::numeric_limits<std::int32_t>::max())
            throw GgufProblem{"'" + m_prefix + key + "' is " + std::to_string(*value) + ", which can't be",
                              entry->offset};
        return *value;
    }

    [[nodiscard]] std::uint64_t offsetOf(const char *key) const
    {
        const auto *entry = m_metadata.find(m_prefix + key);
        return entry == nullptr ? 0 : entry->offset;
    }

private:
    const Metadata &m_metadata;
    std::string m_prefix;
};

void takeModelFacts(const Metadata &metadata, GgufFacts &facts)
{
    facts.architecture = metadata.text("general.architecture").value_or("");
    if (facts.architecture.empty())
        throw GgufProblem{"the key 'general.architecture' is missing", 0};
    const std::string kind = metadata.text("general.type").value_or("model");
    if (kind != "model")
        throw GgufProblem{"the file holds a '" + kind + "', not a model",
                          metadata.find("general.type")->offset};

    facts.name = metadata.text("general.name").value_or("");
    facts.licence = metadata.text("general.license").value_or("");
    facts.chatTemplate = metadata.text("tokenizer.chat_template").value_or("");
    if (const auto type = metadata.integer("general.file_type"); type && *type >= 0)
        facts.fileType = fileTypeName(static_cast<std::uint32_t>(*type));

    const ModelKeys keys(metadata, facts.architecture);
    facts.layers = keys.positive("block_count", true);
    if (facts.layers > maxLayers)
        throw GgufProblem{"the model has " + std::to_string(facts.layers) + " layers, at most "
                              + std::to_string(maxLayers) + " are possible",
                          keys.offsetOf("block_count")};
    facts.embeddingSize = keys.positive("embedding_length", true);
    facts.contextLength = keys.positive("context_length", true);
    facts.heads = keys.positive("attention.head_count", false);
    facts.kvHeads = keys.positive("attention.head_count_kv", false);
    if (facts.kvHeads == 0)
        facts.kvHeads = facts.heads;
    facts.feedForwardSize = keys.optional("feed_forward_length");
    facts.expertCount = keys.optional("expert_count");
    facts.isEmbeddingModel = keys.optional("pooling_type") != 0;
    facts.splitCount = metadata.integer("split.count").value_or(0);
    facts.vocabularySize = keys.optional("vocab_size");
    if (const auto tokens = metadata.arrayLength("tokenizer.ggml.tokens"))
        facts.vocabularySize = static_cast<std::int64_t>(*tokens);
}

} // namespace

GgufFacts readHeader(std::istream &stream, std::uint64_t size)
{
    GgufFacts facts;
    facts.fileBytes = size;
    if (size == 0)
        throw GgufProblem{"the file is empty", 0};
    ByteReader reader(stream, size);
    readMagicAndVersion(reader, facts);
    facts.tensorCount = reader.read<std::uint64_t>("the number of tensors");
    const auto keyCount = reader.read<std::uint64_t>("the number of keys");
    const Metadata metadata = Metadata::read(reader, keyCount);
    TensorTable(reader, facts, static_cast<std::uint64_t>(alignmentOf(metadata))).readAll();
    takeModelFacts(metadata, facts);
    if (facts.tensorCount == 0)
        throw GgufProblem{"the file holds no tensors (a vocabulary only?)", 8};
    return facts;
}

} // namespace engine
