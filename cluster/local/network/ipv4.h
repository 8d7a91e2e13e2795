#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cluster::local {

/// An IPv4 address, in the byte order of numbers: 10.0.0.1 is 0x0A000001.
struct Ipv4
{
    std::uint32_t value = 0;

    /// Four decimal numbers of 0 to 255 with dots, without leading zeros and blanks; anything else is
    /// nothing.
    [[nodiscard]] static std::optional<Ipv4> parse(std::string_view text);
    [[nodiscard]] std::string text() const;

    friend constexpr auto operator<=>(Ipv4, Ipv4) = default;
};

/// All addresses that begin with the first `prefix` bits of `first`.
struct Ipv4Range
{
    Ipv4 first;
    int prefix = 32; ///< 0 to 32

    [[nodiscard]] constexpr std::uint64_t size() const { return std::uint64_t{1} << (32 - prefix); }
    [[nodiscard]] constexpr bool contains(Ipv4 address) const
    {
        return address >= first && address.value - first.value < size();
    }
    [[nodiscard]] constexpr bool overlaps(const Ipv4Range &other) const
    {
        return contains(other.first) || other.contains(first);
    }
    [[nodiscard]] std::string text() const; ///< "10.16.0.0/13"
};

} // namespace cluster::local
