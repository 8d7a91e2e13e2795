#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Writes GGUF files byte by byte, right or wrong, for tests.
class GgufWriter
{
public:
    std::string magic = "GGUF";
    std::uint32_t version = 3;
    std::uint32_t alignment = 32;
    std::uint64_t claimedTensors = 0; ///< Added to the true number.
    std::uint64_t claimedKeys = 0;
    std::uint64_t missingBytes = 0; ///< Cut off the end.

    GgufWriter &text(const std::string &key, const std::string &value)
    {
        return entry(key, 8, withLength(value));
    }

    GgufWriter &number(const std::string &key, std::uint32_t value) { return entry(key, 4, bytes(value)); }

    GgufWriter &texts(const std::string &key, const std::vector<std::string> &values)
    {
        std::string body = bytes(std::uint32_t{8}) + bytes(std::uint64_t{values.size()});
        for (const auto &value : values)
            body += withLength(value);
        return entry(key, 9, body);
    }

    GgufWriter &numbers(const std::string &key, const std::vector<std::uint32_t> &values)
    {
        std::string body = bytes(std::uint32_t{4}) + bytes(std::uint64_t{values.size()});
        for (const auto value : values)
            body += bytes(value);
        return entry(key, 9, body);
    }

    GgufWriter &entry(const std::string &key, std::uint32_t type, const std::string &body)
    {
        m_keys += withLength(key) + bytes(type) + body;
        ++m_keyCount;
        return *this;
    }

    GgufWriter &tensor(const std::string &name, const std::vector<std::uint64_t> &shape, std::uint32_t type,
                       std::uint64_t size, std::uint64_t offsetError = 0)
    {
        m_tensors += withLength(name) + bytes(static_cast<std::uint32_t>(shape.size()));
        for (const auto length : shape)
            m_tensors += bytes(length);
        m_tensors += bytes(type) + bytes(m_dataBytes + offsetError);
        m_dataBytes = padded(m_dataBytes + size);
        ++m_tensorCount;
        return *this;
    }

    /// A whole small model that is right.
    GgufWriter &model()
    {
        text("general.architecture", "llama")
            .text("general.name", "Tiny")
            .text("general.license", "apache-2.0");
        number("general.file_type", 3).number("llama.block_count", 2).number("llama.context_length", 64);
        number("llama.embedding_length", 32).number("llama.attention.head_count", 4);
        number("llama.attention.head_count_kv", 2).number("llama.feed_forward_length", 96);
        texts("tokenizer.ggml.tokens", {"<s>", "</s>", "a", "b"});
        text("tokenizer.chat_template", "{{ messages }}");
        tensor("token_embd.weight", {32, 4}, 3, 80).tensor("output_norm.weight", {32}, 0, 128);
        return *this;
    }

    [[nodiscard]] std::string file() const
    {
        std::string all = magic + bytes(version) + bytes(m_tensorCount + claimedTensors)
            + bytes(m_keyCount + claimedKeys) + m_keys + m_tensors;
        all.resize(padded(all.size()) + m_dataBytes, '\0');
        all.resize(all.size() - std::min<std::size_t>(all.size(), missingBytes));
        return all;
    }

    template<typename T>
    static std::string bytes(T value)
    {
        return {reinterpret_cast<const char *>(&value), sizeof value};
    }

    static std::string withLength(const std::string &value)
    {
        return bytes(std::uint64_t{value.size()}) + value;
    }

private:
    std::string m_keys;
    std::string m_tensors;
    std::uint64_t m_keyCount = 0;
    std::uint64_t m_tensorCount = 0;
    std::uint64_t m_dataBytes = 0;

    [[nodiscard]] std::uint64_t padded(std::uint64_t size) const
    {
        return (size + alignment - 1) / alignment * alignment;
    }
};
