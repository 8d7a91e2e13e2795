#pragma once

#include "cluster/base/result.h"
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <string>

/// Socket steps that workers and leaders share, as coroutines. Private to engine/group: pulls in Asio.
namespace engine {

using Tcp = boost::asio::ip::tcp;

/// An operation that is awaited gives its error_code with its results instead of throwing.
inline constexpr auto asTuple = boost::asio::as_tuple(boost::asio::use_awaitable);

/// Closes a socket when its time is up, which ends whatever waits for it.
class Watchdog
{
public:
    Watchdog(Tcp::socket &socket, std::chrono::milliseconds time);
    ~Watchdog();
    Watchdog(const Watchdog &) = delete;
    Watchdog &operator=(const Watchdog &) = delete;

    void feed(); ///< The time starts anew.
    [[nodiscard]] bool expired() const;

private:
    struct State;
    std::shared_ptr<State> m_state;
    std::chrono::milliseconds m_time;
};

/// Errors: NotFound (no such host), Unavailable (refused), DeadlineExceeded; the message goes on after the
/// address.
boost::asio::awaitable<cluster::Status> connectTo(Tcp::socket &socket, std::string host, std::uint16_t port,
                                                  std::chrono::milliseconds time);

/// One greeting's JSON. Errors: InvalidArgument, Unavailable (closed), DeadlineExceeded.
boost::asio::awaitable<cluster::Result<std::string>> readGreeting(Tcp::socket &socket,
                                                                  std::chrono::milliseconds time);

boost::asio::awaitable<bool> writeAll(Tcp::socket &socket, std::string bytes);

enum class RelayEnd { First, Second };

/// Passes bytes both ways until one side closes, and says which. The other one is left for the caller to
/// close.
boost::asio::awaitable<RelayEnd> relay(std::shared_ptr<Tcp::socket> first,
                                       std::shared_ptr<Tcp::socket> second);

} // namespace engine
