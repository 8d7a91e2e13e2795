#pragma once

#include "engine/gguf/byte_reader.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

namespace engine {

/// An array's elements are not kept, but for what the facts need: their number, and of integers the extremes.
struct MetadataArray
{
    std::uint64_t count = 0;
    std::optional<std::int64_t> smallest;
    std::optional<std::int64_t> largest;
};

struct MetadataValue
{
    std::variant<std::int64_t, double, bool, std::string, MetadataArray> value;
    std::uint64_t offset = 0; ///< Of the key.
};

/// The key/value part of a GGUF header.
class Metadata
{
public:
    /// Errors: throws GgufProblem.
    static Metadata read(ByteReader &reader, std::uint64_t count);

    [[nodiscard]] const MetadataValue *find(const std::string &key) const;
    [[nodiscard]] std::optional<std::string> text(const std::string &key) const;
    [[nodiscard]] std::optional<bool> boolean(const std::string &key) const;
    /// Also for an array of one number for each layer: the largest.
    [[nodiscard]] std::optional<std::int64_t> integer(const std::string &key) const;
    [[nodiscard]] std::optional<std::uint64_t> arrayLength(const std::string &key) const;

private:
    std::map<std::string, MetadataValue> m_values;
};

} // namespace engine
