#include "cluster/local/network/ipv4.h"

namespace cluster::local {

std::optional<Ipv4> Ipv4::parse(std::string_view text)
{
    std::uint32_t value = 0;
    for (int part = 0; part < 4; ++part) {
        if (part > 0) {
            if (text.empty() || text.front() != '.')
                return std::nullopt;
            text.remove_prefix(1);
        }
        std::uint32_t number = 0;
        std::size_t digits = 0;
        while (digits < text.size() && digits < 4 && text[digits] >= '0' && text[digits] <= '9')
            number = number * 10 + static_cast<std::uint32_t>(text[digits++] - '0');
        if (digits == 0 || number > 255 || (digits > 1 && text.front() == '0'))
            return std::nullopt;
        text.remove_prefix(digits);
        value = (value << 8) | number;
    }
    if (!text.empty())
        return std::nullopt;
    return Ipv4{value};
}

std::string Ipv4::text() const
{
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) {
        text += std::to_string((value >> shift) & 0xFF);
        if (shift > 0)
            text += '.';
    }
    return text;
}

std::string Ipv4Range::text() const
{
    return first.text() + "/" + std::to_string(prefix);
}

} // namespace cluster::local
