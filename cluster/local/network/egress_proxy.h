#pragma once

#include "cluster/base/result.h"
#include "cluster/local/network/address_plan.h"
#include "cluster/local/network/dial_target.h"
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

class ServiceTable;

struct EgressProxyOptions
{
    std::string
        socketPath; ///< Made with mode 0600; a socket that is left over from a dead process is replaced.
    AddressPlan plan;
    /// Where all kubelets of the cluster answer. A connection to 10.x.y.z:10250 of a node goes there *from*
    /// 127.x.y.z, so that one listener serves thousands of nodes and still knows which one was meant.
    DialTarget kubelet;
    std::size_t maxConnections = 4096; ///< Further ones are answered 503.
    std::chrono::milliseconds headTimeout{10000}; ///< For the CONNECT line.
    std::chrono::milliseconds connectTimeout{10000};
};

/// Which end of a CONNECT's `host:port` there is on this machine. Nodes, pods and the control plane's
/// address: themselves as 127.x; ClusterIPs and Service names: an endpoint, through the table.
/// PermissionDenied for all else: this proxy is no way out of the cluster.
[[nodiscard]] Result<DialTarget> egressTarget(std::string_view hostAndPort, const EgressProxyOptions &options,
                                              const ServiceTable &services);

/// The HTTP CONNECT proxy on a Unix socket that the apiserver's egress selector (`proxyProtocol:
/// HTTPConnect`, `transport: uds`) sends everything to that is bound for the cluster. Half-closes are passed
/// on; a slow end slows the other. Runs on the io_context's thread, where it is also made and destroyed.
class EgressProxy
{
public:
    /// `services` outlives it.
    EgressProxy(boost::asio::io_context &io, EgressProxyOptions options, const ServiceTable &services);
    ~EgressProxy(); ///< Closes all connections.
    EgressProxy(const EgressProxy &) = delete;
    EgressProxy &operator=(const EgressProxy &) = delete;

    [[nodiscard]] Status listen();
    [[nodiscard]] std::size_t openConnections() const;

private:
    struct Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
