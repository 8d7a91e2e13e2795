#pragma once

#include <cstdint>

namespace cluster {

/// Where a server of ours listens that may not have a port below 1024, which only root may open on most
/// machines, and where those look who were refused at such a port of an address of a cluster. 0: the port is
/// no low one. Below the ports that systems hand out by themselves.
[[nodiscard]] constexpr std::uint16_t substituteOfLowPort(std::uint16_t port)
{
    constexpr std::uint16_t firstFree = 1024, shift = 20000;
    return port != 0 && port < firstFree ? static_cast<std::uint16_t>(port + shift) : std::uint16_t{0};
}

} // namespace cluster
