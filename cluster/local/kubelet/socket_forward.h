#pragma once

#include "cluster/local/kubelet/channel_session.h"
#include "cluster/local/kubelet/port_forward.h"
#include <vector>

namespace cluster::local {

/// A port-forward over a WebSocket with `v4.channel.k8s.io`, as clients without SPDY do it: the ports are
/// known beforehand, each has one connection, on channels 2i (data) and 2i + 1 (errors). The first message of
/// each is the port, two bytes, the low one first.
class SocketForward : public std::enable_shared_from_this<SocketForward>
{
public:
    static std::shared_ptr<SocketForward> start(const boost::asio::any_io_executor &executor,
                                                std::shared_ptr<WebSocket> socket, PortForwardOptions options,
                                                const std::vector<std::uint16_t> &ports,
                                                std::function<void()> onEnded);
    void close(); ///< Cuts all; onEnded is not called.

private:
    SocketForward(boost::asio::any_io_executor executor, PortForwardOptions options);
    void connect(std::uint8_t index, std::uint16_t port);
    void portEnded();

    boost::asio::any_io_executor m_executor;
    PortForwardOptions m_options;
    std::shared_ptr<ChannelSession> m_session;
    std::vector<std::shared_ptr<ByteStream>> m_errors;
    std::size_t m_open = 0; ///< Ports whose connection has not ended.
    JoinSet m_joins;
};

} // namespace cluster::local
