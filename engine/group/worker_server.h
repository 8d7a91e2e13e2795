#pragma once

#include "cluster/base/result.h"
#include "engine/supervisor/spawn.h"
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace boost::asio {
class io_context;
}

namespace engine {

struct WorkerServerOptions
{
    std::string host = "127.0.0.1";
    std::uint16_t port = 0; ///< 0: any free one.
    std::string token; ///< What a leader must know; empty: nothing.
    std::string build; ///< What a leader's build must be.
    std::function<ChildProgram(std::uint16_t port)> rpcServer; ///< A ggml RPC server on that loopback port.
    std::chrono::milliseconds helloDeadline{5'000}; ///< For a connection's greeting.
    std::chrono::milliseconds leaderDeadline{5'000}; ///< A leader silent for so long is gone.
    std::chrono::milliseconds startDeadline{20'000}; ///< For the RPC server to listen.
    std::function<void(std::string_view)> log; ///< One line. Optional.
};

/// The public side of a worker: checks who connects, has one leader at a time, and gives each leader a fresh
/// RPC server, so that nothing that connects can block, crash or outstay it. Threads: the io_context's.
class WorkerServer
{
public:
    WorkerServer(boost::asio::io_context &context, WorkerServerOptions options);
    ~WorkerServer(); ///< Closes everything, ends the RPC server.
    WorkerServer(const WorkerServer &) = delete;
    WorkerServer &operator=(const WorkerServer &) = delete;

    /// Errors: AlreadyExists (port in use), Unavailable (address is not of this host), NotFound.
    [[nodiscard]] cluster::Status listen();
    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] bool hasLeader() const;
    [[nodiscard]] int rpcServerPid() const; ///< -1 while there is no leader.

private:
    struct State;
    std::shared_ptr<State> m_state;
};

} // namespace engine
