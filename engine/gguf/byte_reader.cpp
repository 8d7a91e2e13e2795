#include "engine/gguf/byte_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace engine {

static_assert(std::endian::native == std::endian::little, "values are copied as they are in the file");

constexpr std::size_t bufferBytes = 256 * 1024;

ByteReader::ByteReader(std::istream &stream, std::uint64_t size) : m_stream(stream), m_size(size) {}

void ByteReader::require(std::uint64_t count, const char *what) const
{
    if (count > left())
        throw GgufProblem{std::string("the file ends within ") + what + " (" + std::to_string(count)
                              + " bytes needed, " + std::to_string(left()) + " left)",
                          offset()};
}

void ByteReader::fill()
{
    m_base += m_buffer.size();
    m_next = 0;
    m_buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(bufferBytes, m_size - m_base)));
    m_stream.read(m_buffer.data(), static_cast<std::streamsize>(m_buffer.size()));
    if (static_cast<std::size_t>(m_stream.gcount()) != m_buffer.size())
        throw GgufProblem{"the file can't be read", m_base};
}

void ByteReader::copy(char *target, std::size_t count, const char *what)
{
    require(count, what);
    while (count > 0) {
        if (m_next == m_buffer.size())
            fill();
        const std::size_t part = std::min(count, m_buffer.size() - m_next);
        std::memcpy(target, m_buffer.data() + m_next, part);
        m_next += part;
        target += part;
        count -= part;
    }
}

std::string ByteReader::readText(const char *what, std::uint64_t longest)
{
    const std::uint64_t start = offset();
    const auto length = read<std::uint64_t>(what);
    if (length > longest)
        throw GgufProblem{std::string(what) + " is " + std::to_string(length) + " bytes long, the limit is "
                              + std::to_string(longest),
                          start};
    require(length, what);
    std::string text(static_cast<std::size_t>(length), '\0');
    copy(text.data(), text.size(), what);
    return text;
}

void ByteReader::skip(std::uint64_t count, const char *what)
{
    require(count, what);
    while (count > 0) {
        if (m_next == m_buffer.size())
            fill();
        const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(count, m_buffer.size() - m_next));
        m_next += part;
        count -= part;
    }
}

} // namespace engine
