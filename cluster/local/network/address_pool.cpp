#include "cluster/local/network/address_pool.h"

namespace cluster::local {

AddressPool::AddressPool(Ipv4Range range, std::uint32_t reserved)
    : m_range(range), m_reserved(reserved), m_next(reserved)
{
}

bool AddressPool::isUsable(Ipv4 address) const
{
    const std::uint32_t lastByte = address.value & 0xFF;
    return m_range.contains(address) && address.value - m_range.first.value >= m_reserved && lastByte != 0
        && lastByte != 255;
}

Result<Ipv4> AddressPool::allocate()
{
    for (std::uint64_t tried = 0; tried < m_range.size(); ++tried) {
        const Ipv4 address{m_range.first.value + static_cast<std::uint32_t>(m_next)};
        m_next = (m_next + 1) % m_range.size();
        if (isUsable(address) && m_used.insert(address).second)
            return address;
    }
    return fail(ErrorCode::ResourceExhausted,
                "all addresses of " + m_range.text() + " are in use (" + std::to_string(m_used.size()) + ")");
}

bool AddressPool::take(Ipv4 address)
{
    if (!m_range.contains(address) || !m_used.insert(address).second)
        return false;
    const std::uint64_t after = (address.value - m_range.first.value + std::uint64_t{1}) % m_range.size();
    if (after > m_next)
        m_next = after;
    return true;
}

void AddressPool::release(Ipv4 address)
{
    m_used.erase(address);
}

} // namespace cluster::local
