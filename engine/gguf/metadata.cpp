#include "engine/gguf/metadata.h"

#include <algorithm>
#include <limits>

namespace engine {
namespace {

enum class Type : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

constexpr std::uint64_t maxKeyBytes = 65'535;
constexpr std::uint64_t maxTextBytes = 64ULL << 20U; // the longest texts are chat templates
constexpr std::uint64_t smallestEntry = 8 + 1 + 4 + 1; // length, one letter, type, one byte

std::uint64_t bytesOf(Type type)
{
    switch (type) {
    case Type::U8:
    case Type::I8:
    case Type::Bool:
        return 1;
    case Type::U16:
    case Type::I16:
        return 2;
    case Type::U32:
    case Type::I32:
    case Type::F32:
        return 4;
    case Type::U64:
    case Type::I64:
    case Type::F64:
        return 8;
    case Type::String: // its length
        return 8;
    case Type::Array: // type and count
        return 12;
    }
    return 1;
}

Type readType(ByteReader &reader, const std::string &key)
{
    const std::uint64_t start = reader.offset();
    const auto number = reader.read<std::uint32_t>("the type of a key's value");
    if (number > static_cast<std::uint32_t>(Type::F64))
        throw GgufProblem{"the value of '" + key + "' has the unknown type " + std::to_string(number), start};
    return static_cast<Type>(number);
}

/// Integers of any width; nothing for other types. Larger than int64 counts as the largest int64.
std::optional<std::int64_t> readInteger(ByteReader &reader, Type type)
{
    constexpr auto what = "a number";
    switch (type) {
    case Type::U8:
        return reader.read<std::uint8_t>(what);
    case Type::I8:
        return reader.read<std::int8_t>(what);
    case Type::U16:
        return reader.read<std::uint16_t>(what);
    case Type::I16:
        return reader.read<std::int16_t>(what);
    case Type::U32:
        return reader.read<std::uint32_t>(what);
    case Type::I32:
        return reader.read<std::int32_t>(what);
    case Type::I64:
        return reader.read<std::int64_t>(what);
    case Type::U64: {
        constexpr auto top = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        return static_cast<std::int64_t>(std::min(reader.read<std::uint64_t>(what), top));
    }
    default:
        return std::nullopt;
    }
}

MetadataArray readArray(ByteReader &reader, const std::string &key)
{
    const Type type = readType(reader, key);
    const std::uint64_t start = reader.offset();
    MetadataArray array;
    array.count = reader.read<std::uint64_t>("the length of an array");
    if (type == Type::Array)
        throw GgufProblem{"the value of '" + key + "' is an array of arrays", start};
    if (array.count > reader.left() / bytesOf(type))
        throw GgufProblem{"the array '" + key + "' claims " + std::to_string(array.count)
                              + " elements, more than the file can hold",
                          start};
    constexpr std::uint64_t mostLooked
        = 4096; // arrays by layer are short; token types and scores are not looked at
    if (type == Type::String) {
        for (std::uint64_t i = 0; i < array.count; ++i)
            reader.skip(reader.read<std::uint64_t>("the length of a text"), "a text in an array");
    } else if (array.count > mostLooked || type == Type::F32 || type == Type::F64 || type == Type::Bool) {
        reader.skip(array.count * bytesOf(type), "an array");
    } else {
        for (std::uint64_t i = 0; i < array.count; ++i) {
            const std::int64_t value = readInteger(reader, type).value_or(0);
            array.smallest = std::min(array.smallest.value_or(value), value);
            array.largest = std::max(array.largest.value_or(value), value);
        }
    }
    return array;
}

MetadataValue readValue(ByteReader &reader, const std::string &key)
{
    MetadataValue entry;
    const Type type = readType(reader, key);
    switch (type) {
    case Type::String:
        entry.value = reader.readText("a text", maxTextBytes);
        break;
    case Type::Array:
        entry.value = readArray(reader, key);
        break;
    case Type::Bool:
        entry.value = reader.read<std::uint8_t>("a boolean") != 0;
        break;
    case Type::F32:
        entry.value = static_cast<double>(reader.read<float>("a number"));
        break;
    case Type::F64:
        entry.value = reader.read<double>("a number");
        break;
    default:
        entry.value = readInteger(reader, type).value_or(0);
    }
    return entry;
}

} // namespace

Metadata Metadata::read(ByteReader &reader, std::uint64_t count)
{
    if (count > reader.left() / smallestEntry)
        throw GgufProblem{"the header claims " + std::to_string(count) + " keys, more than the file can hold",
                          reader.offset()};
    Metadata metadata;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t start = reader.offset();
        std::string key = reader.readText("a key", maxKeyBytes);
        if (key.empty())
            throw GgufProblem{"key " + std::to_string(i + 1) + " has no name", start};
        MetadataValue value = readValue(reader, key);
        value.offset = start;
        if (!metadata.m_values.emplace(key, std::move(value)).second)
            throw GgufProblem{"the key '" + key + "' appears twice", start};
    }
    return metadata;
}

const MetadataValue *Metadata::find(const std::string &key) const
{
    const auto found = m_values.find(key);
    return found == m_values.end() ? nullptr : &found->second;
}

std::optional<std::string> Metadata::text(const std::string &key) const
{
    const auto *entry = find(key);
    const auto *text = entry == nullptr ? nullptr : std::get_if<std::string>(&entry->value);
    return text == nullptr ? std::nullopt : std::optional(*text);
}

std::optional<bool> Metadata::boolean(const std::string &key) const
{
    const auto *entry = find(key);
    const auto *value = entry == nullptr ? nullptr : std::get_if<bool>(&entry->value);
    return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::int64_t> Metadata::integer(const std::string &key) const
{
    const auto *entry = find(key);
    if (entry == nullptr)
        return std::nullopt;
    if (const auto *value = std::get_if<std::int64_t>(&entry->value))
        return *value;
    if (const auto *array = std::get_if<MetadataArray>(&entry->value))
        return array->largest;
    return std::nullopt;
}

std::optional<std::uint64_t> Metadata::arrayLength(const std::string &key) const
{
    const auto *entry = find(key);
    const auto *array = entry == nullptr ? nullptr : std::get_if<MetadataArray>(&entry->value);
    return array == nullptr ? std::nullopt : std::optional(array->count);
}

} // namespace engine
