#pragma once

#include "cluster/local/kubelet/spdy_session.h"
#include "cluster/local/network/dial_target.h"
#include "cluster/local/network/join_set.h"
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <string>

namespace cluster::local {

struct PortForwardOptions
{
    Ipv4 podAddress; ///< On this machine, 127.x.
    std::string pod; ///< namespace/name, for messages
    std::size_t maxStreams = 2048;
    std::size_t maxBacklog = std::size_t{1} << 20; ///< Bytes that the pod has not taken yet.
    std::chrono::milliseconds pairTimeout{30000}; ///< For the second stream of a pair to be opened.
    std::chrono::milliseconds connectTimeout{10000};
};

/// A port-forward: for each connection the client opens two streams, `data` and `error`, with a `port` and
/// the same `requestid`. Data is joined with a TCP connection to the pod; what goes wrong is told as text on
/// the error stream, which is then ended.
class PortForward : public std::enable_shared_from_this<PortForward>
{
public:
    /// `onEnded`: once, when the connection has gone.
    static std::shared_ptr<PortForward> start(const boost::asio::any_io_executor &executor,
                                              std::unique_ptr<ByteStream> carrier, PortForwardOptions options,
                                              std::function<void()> onEnded);
    void close(); ///< Cuts all; onEnded is not called.

private:
    /// Two streams of one request, until both are there.
    struct Pair
    {
        std::shared_ptr<ByteStream> error;
        std::unique_ptr<ByteStream> data;
        std::string port;
        std::unique_ptr<boost::asio::steady_timer> timer;
    };

    PortForward(boost::asio::any_io_executor executor, PortForwardOptions options);
    void onStream(SpdySession::Stream stream);
    void connect(Pair pair);
    void tellFailure(const std::shared_ptr<ByteStream> &error, std::unique_ptr<ByteStream> data,
                     const std::string &text);

    boost::asio::any_io_executor m_executor;
    PortForwardOptions m_options;
    std::function<void()> m_onEnded;
    std::unique_ptr<SpdySession> m_session;
    std::map<std::string, Pair> m_pairs; ///< Incomplete ones.
    JoinSet m_joins;
};

} // namespace cluster::local
