#pragma once

#include "cluster/base/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster {

/// Writes a GGUF file, version 3, little endian: header, keys, tensor table, then the tensors' bytes.
/// Source: the GGUF specification in ggml (docs/gguf.md).
class GgufWriter
{
public:
    using Sink = std::function<Status(std::string_view)>;

    enum class TensorType : std::uint32_t { F32 = 0, F16 = 1 };

    void addText(std::string_view key, std::string_view value);
    void addCount(std::string_view key, std::uint32_t value);
    void addNumber(std::string_view key, float value);
    void addFlag(std::string_view key, bool value);
    void addTexts(std::string_view key, const std::vector<std::string> &values);
    void addIntegers(std::string_view key, const std::vector<std::int32_t> &values);

    /// `shape` as in ggml: the dimension that varies fastest first.
    void addTensor(std::string_view name, const std::vector<std::uint64_t> &shape, TensorType type);

    /// Everything before the first tensor. Nothing may be added afterwards.
    Status writeHead(const Sink &sink);
    /// Call once for each tensor, in the order added.
    Status writeTensor(std::string_view bytes, const Sink &sink);

private:
    void beginKey(std::string_view key, std::uint32_t type);

    std::string m_keys;
    std::uint64_t m_keyCount = 0;
    std::string m_tensors;
    std::uint64_t m_tensorCount = 0;
    std::uint64_t m_nextOffset = 0;
};

} // namespace cluster
