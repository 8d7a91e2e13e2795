#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cluster::local {

struct TerminalSize
{
    std::uint16_t columns = 0;
    std::uint16_t rows = 0;

    friend bool operator==(const TerminalSize &, const TerminalSize &) = default;
};

/// Reads the resize stream of an exec: JSON objects `{"Width":80,"Height":24}` one after the other. What is
/// no such object is skipped.
class ResizeReader
{
public:
    [[nodiscard]] std::vector<TerminalSize> feed(std::string_view bytes);

private:
    std::string m_object; ///< From its `{` on, as far as it came.
};

} // namespace cluster::local
