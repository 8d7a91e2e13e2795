#pragma once

#include "cluster/base/result.h"
#include "cluster/local/runtimes/ray/head_codec.h"
#include "cluster/local/runtimes/ray/line_connection.h"

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace cluster::local {

struct JoinHandlers
{
    /// A worker asks to join. Returns its node id.
    std::function<std::string(RayNodeFacts facts)> onJoin;
    std::function<void(const std::string &node, WorkerMessage message)> onMessage;
    std::function<void(const std::string &node)> onLost; ///< its connection broke
};

/// Where workers join a head. A connection that does not say hello within ten seconds, or sends what is no
/// message, is closed. One thread, the io_context's.
class JoinServer
{
public:
    JoinServer(boost::asio::io_context &io, std::string session, JoinHandlers handlers);
    ~JoinServer();
    JoinServer(const JoinServer &) = delete;
    JoinServer &operator=(const JoinServer &) = delete;

    /// Errors: AlreadyExists (the port is taken), InvalidArgument (address).
    Status listen(const std::string &address, unsigned short port);
    [[nodiscard]] unsigned short port() const;
    void send(const std::string &node, const std::string &line);
    void sendToAll(const std::string &line);
    void drop(const std::string &node); ///< a dead node: its connection is of no use any more

private:
    struct State;
    std::shared_ptr<State> m_state;
};

} // namespace cluster::local
