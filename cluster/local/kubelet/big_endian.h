#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cluster::local {

/// Four bytes, the highest first. `text` has at least `offset` + 4.
[[nodiscard]] inline std::uint32_t readBig32(std::string_view text, std::size_t offset = 0)
{
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
        value = (value << 8) | static_cast<unsigned char>(text[offset + i]);
    return value;
}

inline void appendBig32(std::string &text, std::uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        text += static_cast<char>((value >> shift) & 0xFF);
}

} // namespace cluster::local
