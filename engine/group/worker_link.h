#pragma once

#include "engine/group/stream.h"
#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace engine {

struct WorkerLinkOptions
{
    std::string host;
    std::uint16_t port = 0;
    std::string token;
    std::string build;
    std::chrono::milliseconds openDeadline{
        30'000}; ///< For the worker to listen, be free and start its RPC server.
    std::chrono::milliseconds heartbeatDeadline{5'000}; ///< A worker silent for so long is lost.
};

/// The leader's side of one worker: a session with heartbeats, and a loopback port on this host that leads to
/// the worker's RPC server. Private to engine/group.
class WorkerLink : public std::enable_shared_from_this<WorkerLink>
{
public:
    /// `lost` is called at most once, after open succeeded, with the reason.
    WorkerLink(boost::asio::io_context &context, WorkerLinkOptions options,
               std::function<void(const std::string &)> lost);

    /// Errors: Unauthenticated, FailedPrecondition (another build), NotFound, DeadlineExceeded; names the
    /// worker.
    boost::asio::awaitable<cluster::Status> open();
    void close();

    [[nodiscard]] std::string relayEndpoint() const; ///< "127.0.0.1:port", once open.
    [[nodiscard]] const std::string &lostReason() const { return m_lostReason; } ///< Empty while it is well.

private:
    boost::asio::io_context &m_context;
    WorkerLinkOptions m_options;
    std::function<void(const std::string &)> m_lost;
    Tcp::socket m_control;
    Tcp::acceptor m_relay;
    std::string m_session;
    std::string m_lostReason;
    std::vector<std::weak_ptr<Tcp::socket>> m_streams;
    bool m_closed = false;

    [[nodiscard]] std::string name() const;
    boost::asio::awaitable<cluster::Status> greet(Tcp::socket &socket, bool control,
                                                  std::chrono::milliseconds time);
    boost::asio::awaitable<cluster::Status> openOnce(std::chrono::milliseconds time);
    boost::asio::awaitable<void> beat();
    boost::asio::awaitable<void> acceptStreams();
    boost::asio::awaitable<void> passStream(std::shared_ptr<Tcp::socket> local);
    void lose(const std::string &reason);
};

} // namespace engine
