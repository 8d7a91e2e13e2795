#include "cluster/modelstore/gguf_writer.h"

#include <bit>
#include <numeric>

namespace cluster {

namespace {

constexpr std::uint64_t alignment = 32; // GGUF's default
constexpr std::uint32_t formatVersion = 3;

// Type numbers of values, as the format has them.
constexpr std::uint32_t typeUint32 = 4;
constexpr std::uint32_t typeInt32 = 5;
constexpr std::uint32_t typeFloat32 = 6;
constexpr std::uint32_t typeBool = 7;
constexpr std::uint32_t typeString = 8;
constexpr std::uint32_t typeArray = 9;

template<typename T>
void put(std::string &bytes, T value)
{
    for (std::size_t i = 0; i < sizeof(T); ++i)
        bytes += static_cast<char>((value >> (8 * i)) & 0xFFU);
}

void putText(std::string &bytes, std::string_view text)
{
    put<std::uint64_t>(bytes, text.size());
    bytes += text;
}

std::string padding(std::uint64_t size)
{
    return std::string((alignment - size % alignment) % alignment, '\0');
}

} // namespace

void GgufWriter::beginKey(std::string_view key, std::uint32_t type)
{
    putText(m_keys, key);
    put(m_keys, type);
    ++m_keyCount;
}

void GgufWriter::addText(std::string_view key, std::string_view value)
{
    beginKey(key, typeString);
    putText(m_keys, value);
}

void GgufWriter::addCount(std::string_view key, std::uint32_t value)
{
    beginKey(key, typeUint32);
    put(m_keys, value);
}

void GgufWriter::addNumber(std::string_view key, float value)
{
    beginKey(key, typeFloat32);
    put(m_keys, std::bit_cast<std::uint32_t>(value));
}

void GgufWriter::addFlag(std::string_view key, bool value)
{
    beginKey(key, typeBool);
    m_keys += value ? '\1' : '\0';
}

void GgufWriter::addTexts(std::string_view key, const std::vector<std::string> &values)
{
    beginKey(key, typeArray);
    put(m_keys, typeString);
    put<std::uint64_t>(m_keys, values.size());
    for (const std::string &value : values)
        putText(m_keys, value);
}

void GgufWriter::addIntegers(std::string_view key, const std::vector<std::int32_t> &values)
{
    beginKey(key, typeArray);
    put(m_keys, typeInt32);
    put<std::uint64_t>(m_keys, values.size());
    for (const std::int32_t value : values)
        put(m_keys, static_cast<std::uint32_t>(value));
}

void GgufWriter::addTensor(std::string_view name, const std::vector<std::uint64_t> &shape, TensorType type)
{
    putText(m_tensors, name);
    put(m_tensors, static_cast<std::uint32_t>(shape.size()));
    for (const std::uint64_t dimension : shape)
        put(m_tensors, dimension);
    put(m_tensors, static_cast<std::uint32_t>(type));
    put(m_tensors, m_nextOffset);
    const std::uint64_t count
        = std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
    const std::uint64_t size = count * (type == TensorType::F32 ? 4 : 2);
    m_nextOffset += size + padding(size).size();
    ++m_tensorCount;
}

Status GgufWriter::writeHead(const Sink &sink)
{
    std::string head = "GGUF";
    put(head, formatVersion);
    put(head, m_tensorCount);
    put(head, m_keyCount);
    head += m_keys;
    head += m_tensors;
    head += padding(head.size());
    return sink(head);
}

Status GgufWriter::writeTensor(std::string_view bytes, const Sink &sink)
{
    if (auto written = sink(bytes); !written)
        return written;
    return sink(padding(bytes.size()));
}

} // namespace cluster
