#pragma once

#include "cluster/local/network/ipv4.h"
#include <cstdint>

namespace cluster::local {

/// Where a connection that was meant for an address of the cluster really goes on this machine.
struct DialTarget
{
    Ipv4 address; ///< In 127.0.0.0/8.
    std::uint16_t port = 0;
    /// The loopback address that our end is bound to before it connects; 0.0.0.0: whichever the system takes.
    Ipv4 from;

    friend bool operator==(const DialTarget &, const DialTarget &) = default;
};

} // namespace cluster::local
