#pragma once

#include "cluster/base/result.h"
#include "engine/serving/exchange.h"
#include "engine/serving/server_options.h"
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace engine {

/// Sockets only: accepts connections, keeps them within the limits of the options, and hands on requests.
/// Threads: everything on the thread that runs the io_context.
class HttpServer
{
public:
    using Handler = std::function<void(const ExchangePtr &)>;
    using Observer = std::function<void(const Exchange &)>;

    HttpServer(boost::asio::io_context &io, const ServerOptions &options, Handler handler, Observer served);
    ~HttpServer(); ///< Closes everything at once.
    HttpServer(const HttpServer &) = delete;
    HttpServer &operator=(const HttpServer &) = delete;

    /// Errors: NotFound for a host name that has no address, AlreadyExists for a port in use, else
    /// Unavailable.
    [[nodiscard]] cluster::Status listen();
    [[nodiscard]] std::uint16_t port() const; ///< The one in use, once listening.
    [[nodiscard]] std::size_t connectionCount() const;

    /// No new connections; idle ones close; running answers have shutdownTimeout to end.
    void stop(std::function<void()> stopped = {});

private:
    struct State;
    std::shared_ptr<State> m_state;
};

} // namespace engine
