#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <type_traits>
#include <vector>

namespace engine {

/// What is wrong with a file, and at which byte. Thrown within engine/gguf only.
struct GgufProblem
{
    std::string what;
    std::uint64_t offset = 0;
};

/// Little-endian values from a stream of known length. Nothing is allocated before it is known to be there.
/// Errors: throws GgufProblem where the file ends too early or can't be read.
class ByteReader
{
public:
    ByteReader(std::istream &stream, std::uint64_t size);

    [[nodiscard]] std::uint64_t offset() const { return m_base + m_next; }
    [[nodiscard]] std::uint64_t size() const { return m_size; }
    [[nodiscard]] std::uint64_t left() const { return m_size - offset(); }

    template<typename T>
    [[nodiscard]] T read(const char *what)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        copy(reinterpret_cast<char *>(&value), sizeof value, what);
        return value;
    }

    /// A text of at most `longest` bytes, with its length (8 bytes) before it.
    [[nodiscard]] std::string readText(const char *what, std::uint64_t longest);
    void skip(std::uint64_t count, const char *what);

private:
    std::istream &m_stream;
    std::uint64_t m_size;
    std::uint64_t m_base = 0; ///< Offset of the buffer in the file.
    std::vector<char> m_buffer;
    std::size_t m_next = 0; ///< Within the buffer.

    void require(std::uint64_t count, const char *what) const;
    void copy(char *target, std::size_t count, const char *what);
    void fill();
};

} // namespace engine
