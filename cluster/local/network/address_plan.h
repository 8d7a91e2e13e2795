#pragma once

#include "cluster/base/result.h"
#include "cluster/local/network/ipv4.h"

namespace cluster::local {

/// Where an address of a cluster, 10.a.b.c, lives on this machine: 127.a.b.c, which any process may listen on
/// without root. Objects in the API always carry the 10.x form: EndpointSlices refuse 127.0.0.0/8.
[[nodiscard]] constexpr Ipv4 onThisMachine(Ipv4 inCluster)
{
    return Ipv4{(inCluster.value & 0x00FF'FFFFU) | 0x7F00'0000U};
}
/// The way back: 127.a.b.c is 10.a.b.c.
[[nodiscard]] constexpr Ipv4 inCluster(Ipv4 onThisMachine)
{
    return Ipv4{(onThisMachine.value & 0x00FF'FFFFU) | 0x0A00'0000U};
}

/// Which addresses the n-th cluster of this machine uses. No two ranges of any two clusters overlap, so that
/// all of them can run at once on the one loopback interface.
class AddressPlan
{
public:
    static constexpr int maxClusters = 10;

    /// \param index  0 to maxClusters - 1; InvalidArgument otherwise.
    [[nodiscard]] static Result<AddressPlan> forCluster(int index);

    [[nodiscard]] int index() const { return m_index; }
    [[nodiscard]] Ipv4Range nodes() const; ///< 10.(128+n).0.0/16: InternalIPs
    [[nodiscard]] Ipv4Range pods() const; ///< 10.(16+8n).0.0/13: flat, not cut into a range per node
    [[nodiscard]] Ipv4Range services() const; ///< 10.(201+n).0.0/16: --service-cluster-ip-range

    /// 10.(140+n).0.0/16: for each pod with processes an address of its metadata server. Only on this
    /// machine: nothing in the API names them.
    [[nodiscard]] Ipv4Range metadata() const;

    /// The apiserver's --advertise-address, and where servers inside of slipwayd that the cluster reaches as
    /// endpoints of a Service (metrics API, webhooks) listen. 10.(128+n).0.2; no node ever gets it.
    [[nodiscard]] Ipv4 controlPlane() const;
    /// ClusterIP of the Service `kubernetes` in `default`: the first of the service range.
    [[nodiscard]] Ipv4 kubernetesService() const;

    [[nodiscard]] bool contains(Ipv4 address) const; ///< of nodes, pods or services

private:
    explicit AddressPlan(int index) : m_index(index) {}

    int m_index = 0;
};

} // namespace cluster::local
