#pragma once

#include "cluster/local/runtimes/ray/node_server.h"

#include <functional>
#include <memory>
#include <string>

namespace cluster::local {

/// A worker of a Ray cluster: a node that joins a head, and runs what the head places there. Lives on one
/// io_context that one thread runs.
class RayWorker
{
public:
    /// \param onEnd  Its cluster is gone: the head has not been reached for a minute, or is a new one. Called
    /// once, with what happened.
    RayWorker(boost::asio::io_context &io, RayStartOptions options, std::function<void(std::string)> onEnd);
    ~RayWorker();
    RayWorker(const RayWorker &) = delete;
    RayWorker &operator=(const RayWorker &) = delete;

    /// Errors: AlreadyExists (a port is taken). The head may come later.
    Status start();
    void leave(std::function<void()> done); ///< SIGTERM: tells the head, then calls `done`
    [[nodiscard]] bool isJoined() const;
    [[nodiscard]] std::string nodeId() const; ///< empty before it has joined
    [[nodiscard]] unsigned short proxyPort() const;

private:
    class Private;
    std::shared_ptr<Private> d;
};

} // namespace cluster::local
