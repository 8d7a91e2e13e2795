#include "cluster/local/network/address_plan.h"

namespace cluster::local {

namespace {

Ipv4 tenDot(int second)
{
    return Ipv4{0x0A00'0000U | (static_cast<std::uint32_t>(second) << 16)};
}

} // namespace

Result<AddressPlan> AddressPlan::forCluster(int index)
{
    if (index < 0 || index >= maxClusters)
        return fail(ErrorCode::InvalidArgument,
                    "no addresses for cluster number " + std::to_string(index)
                        + ": this machine has room for " + std::to_string(maxClusters)
                        + " local clusters at once; delete one first");
    return AddressPlan(index);
}

Ipv4Range AddressPlan::nodes() const
{
    return {tenDot(128 + m_index), 16};
}

Ipv4Range AddressPlan::pods() const
{
    return {tenDot(16 + 8 * m_index), 13};
}

Ipv4Range AddressPlan::services() const
{
    return {tenDot(201 + m_index), 16};
}

Ipv4Range AddressPlan::metadata() const
{
    return {tenDot(140 + m_index), 16};
}

Ipv4 AddressPlan::controlPlane() const
{
    return Ipv4{nodes().first.value + 2};
}

Ipv4 AddressPlan::kubernetesService() const
{
    return Ipv4{services().first.value + 1};
}

bool AddressPlan::contains(Ipv4 address) const
{
    return nodes().contains(address) || pods().contains(address) || services().contains(address);
}

} // namespace cluster::local
