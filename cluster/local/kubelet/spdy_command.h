#pragma once

#include "cluster/base/result.h"
#include "cluster/local/kubelet/remote_command.h"
#include "cluster/local/kubelet/spdy_session.h"
#include "cluster/local/nodeagent/pod_access.h"
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>

namespace cluster::local {

/// Collects the streams that the client of an exec or attach opens on a SPDY connection: `error`, and as
/// asked `stdin`, `stdout`, `stderr`, `resize`.
class SpdyCommand : public std::enable_shared_from_this<SpdyCommand>
{
public:
    struct Events
    {
        std::function<void(RemoteCommand)> onReady; ///< All streams are there.
        std::function<void()> onEnded; ///< Once: the connection has gone, also before onReady.
    };

    /// \param protocol  "v4.channel.k8s.io" and so on: decides on resize and the status.
    static std::shared_ptr<SpdyCommand> start(const boost::asio::any_io_executor &executor,
                                              std::unique_ptr<ByteStream> carrier, const ExecOptions &options,
                                              const std::string &protocol, std::chrono::milliseconds timeout,
                                              Events events);
    void close(); ///< Cuts the connection; onEnded is not called.

private:
    explicit SpdyCommand(const boost::asio::any_io_executor &executor) : m_timer(executor) {}
    void onStream(SpdySession::Stream stream);

    boost::asio::steady_timer m_timer;
    std::unique_ptr<SpdySession> m_session;
    std::map<std::string, std::shared_ptr<ByteStream>> m_streams; ///< By streamtype; null until it is there.
    std::size_t m_missing = 0;
    bool m_hasJsonStatus = true;
    Events m_events;
};

} // namespace cluster::local
