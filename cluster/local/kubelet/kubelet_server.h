#pragma once

#include "cluster/base/result.h"
#include "cluster/local/network/address_plan.h"
#include "cluster/local/network/dial_target.h"
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

class PodAccess;

struct KubeletServerOptions
{
    AddressPlan plan;
    std::uint16_t port = 0; ///< On 127.0.0.1; 0: any free one.
    std::string certificatePem; ///< The server's, with its key; from the cluster's own CA.
    std::string keyPem;
    std::string clientCaPem; ///< Only clients with a certificate of this CA are answered...
    std::string clientName; ///< ...and of them only this common name: the apiserver's.
    std::size_t maxConnections = 4096; ///< Without those that were upgraded; further ones wait.
    std::size_t maxSessions = 256; ///< Execs, attaches and port-forwards at once; one more is answered 503.
    std::size_t maxLogs = 1024; ///< Logs being read at once; one more is answered 503.
    /// What came from clients and was not taken on yet, of all sessions: each may hold its part of it.
    std::size_t maxBacklog = std::size_t{256} << 20;
    std::size_t maxStreams = 2048; ///< SPDY streams of one connection: a port-forward takes two.
    std::chrono::milliseconds streamCreationTimeout{30000}; ///< For all streams of an exec to be opened.
};

/// The HTTPS API that every kubelet has and the real apiserver calls: logs, exec, attach, port-forward,
/// stats, metrics, pods. One listener answers for all nodes of a cluster; which node is meant is the client's
/// address (see EgressProxyOptions::kubelet). Runs on the io_context's thread, where it is also made and
/// destroyed.
class KubeletServer
{
public:
    /// Name of the Node with an InternalIP (10.x); nothing for an address that no node has.
    using NodeOfAddress = std::function<std::optional<std::string>(Ipv4)>;

    /// `pods` outlives it.
    KubeletServer(boost::asio::io_context &io, KubeletServerOptions options, PodAccess &pods,
                  NodeOfAddress nodeOfAddress);
    ~KubeletServer(); ///< Closes all connections; processes that an exec started are ended by PodAccess.
    KubeletServer(const KubeletServer &) = delete;
    KubeletServer &operator=(const KubeletServer &) = delete;

    [[nodiscard]] Status listen();
    /// What EgressProxyOptions::kubelet is to be. Valid after listen().
    [[nodiscard]] DialTarget address() const;

private:
    struct Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
