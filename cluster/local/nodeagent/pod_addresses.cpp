#include "cluster/local/nodeagent/pod_addresses.h"

#include <arpa/inet.h>
#include <cstdlib>

namespace cluster::local {

namespace {

bool parse(const std::string &text, std::uint32_t &address)
{
    in_addr parsed{};
    if (::inet_pton(AF_INET, text.c_str(), &parsed) != 1)
        return false;
    address = ntohl(parsed.s_addr);
    return true;
}

std::string show(std::uint32_t address)
{
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8)
        text += (text.empty() ? "" : ".") + std::to_string(address >> shift & 0xFFU);
    return text;
}

} // namespace

Result<PodAddresses> PodAddresses::inRange(const std::string &cidr)
{
    PodAddresses addresses;
    const std::size_t slash = cidr.find('/');
    const int bits = slash == std::string::npos ? -1 : std::atoi(cidr.c_str() + slash + 1);
    std::uint32_t first = 0;
    if (bits < 8 || bits > 29 || !parse(cidr.substr(0, slash), first))
        return fail(ErrorCode::InvalidArgument, "'" + cidr + "' is no IPv4 range for pods (8 to 29 bits)");
    const std::uint32_t size = 1U << (32 - bits);
    addresses.m_first = (first & ~(size - 1)) + 2; // the range's own address and a gateway's are left out
    addresses.m_last = (first & ~(size - 1)) + size - 2;
    addresses.m_next = addresses.m_first;
    return addresses;
}

Result<std::string> PodAddresses::take()
{
    const std::uint32_t count = m_last - m_first + 1;
    for (std::uint32_t tries = 0; tries < count; ++tries) {
        const std::uint32_t address = m_next;
        m_next = m_next == m_last ? m_first : m_next + 1;
        if (m_taken.insert(address).second)
            return show(address);
    }
    return fail(ErrorCode::ResourceExhausted, "all " + std::to_string(count) + " pod addresses are in use");
}

bool PodAddresses::claim(const std::string &address)
{
    std::uint32_t number = 0;
    return parse(address, number) && number >= m_first && number <= m_last && m_taken.insert(number).second;
}

void PodAddresses::giveBack(const std::string &address)
{
    std::uint32_t number = 0;
    if (parse(address, number))
        m_taken.erase(number);
}

} // namespace cluster::local
