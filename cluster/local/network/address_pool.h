#pragma once

#include "cluster/base/result.h"
#include "cluster/local/network/ipv4.h"
#include <set>

namespace cluster::local {

/// Hands out the addresses of a range, for nodes or for pods. An address that was given back is the last to
/// be handed out again: connections and EndpointSlices that still mean its former owner have time to go.
/// Never hands out the first `reserved` addresses, nor one that ends in 0 or 255. For one thread.
class AddressPool
{
public:
    explicit AddressPool(Ipv4Range range, std::uint32_t reserved = 16);

    /// ResourceExhausted when all are in use.
    [[nodiscard]] Result<Ipv4> allocate();
    /// An address that an object has already, found at start. False: outside of the range, or in use.
    bool take(Ipv4 address);
    /// Of an address that is not in use: nothing happens.
    void release(Ipv4 address);

    [[nodiscard]] std::size_t inUse() const { return m_used.size(); }

private:
    [[nodiscard]] bool isUsable(Ipv4 address) const;

    Ipv4Range m_range;
    std::uint32_t m_reserved;
    std::uint64_t m_next; ///< Offset in the range at which the search goes on.
    std::set<Ipv4> m_used;
};

} // namespace cluster::local
