#pragma once

#include "cluster/local/runtimes/ray/dashboard.h"
#include "cluster/local/runtimes/ray/node_server.h"

#include <memory>

namespace cluster::local {

/// The ports that a head listens on, as opened.
struct RayHeadPorts
{
    unsigned short join = 0, dashboard = 0, agent = 0, metrics = 0, proxy = 0;
};

/// The head of a Ray cluster: a node, the place where workers join, Serve's controller and the dashboard.
/// Lives on one io_context that one thread runs.
class RayHead
{
public:
    RayHead(boost::asio::io_context &io, RayStartOptions options);
    ~RayHead();
    RayHead(const RayHead &) = delete;
    RayHead &operator=(const RayHead &) = delete;

    /// Errors: AlreadyExists (a port is taken), which names it.
    Status start();
    [[nodiscard]] RayHeadPorts ports() const;
    [[nodiscard]] const NodeTable &nodes() const;
    [[nodiscard]] const ServeState &serve() const;

private:
    class Private;
    std::shared_ptr<Private> d;
};

} // namespace cluster::local
