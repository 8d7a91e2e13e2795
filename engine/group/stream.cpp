#include "engine/group/stream.h"

#include "engine/group/greeting.h"
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <vector>

namespace engine {

namespace asio = boost::asio;
using boost::system::error_code;
using cluster::ErrorCode;
using cluster::fail;

// Results as values: a closed socket is nothing exceptional here.
struct Watchdog::State
{
    State(Tcp::socket &watched, const asio::any_io_executor &executor) : socket(&watched), timer(executor) {}

    Tcp::socket *socket;
    asio::steady_timer timer;
    bool expired = false;
};

Watchdog::Watchdog(Tcp::socket &socket, std::chrono::milliseconds time)
    : m_state(std::make_shared<State>(socket, socket.get_executor())), m_time(time)
{
    feed();
}

Watchdog::~Watchdog()
{
    m_state->socket = nullptr;
    m_state->timer.cancel();
}

void Watchdog::feed()
{
    m_state->timer.expires_after(m_time);
    m_state->timer.async_wait([state = m_state](const error_code &error) {
        if (error || state->socket == nullptr)
            return;
        state->expired = true;
        error_code ignored;
        state->socket->close(ignored);
    });
}

bool Watchdog::expired() const
{
    return m_state->expired;
}

asio::awaitable<cluster::Status> connectTo(Tcp::socket &socket, std::string host, std::uint16_t port,
                                           std::chrono::milliseconds time)
{
    Tcp::resolver resolver(socket.get_executor());
    const std::string service = std::to_string(port);
    auto [unresolved, endpoints] = co_await resolver.async_resolve(host, service, asTuple);
    if (unresolved)
        co_return fail(ErrorCode::NotFound, "has no address (" + unresolved.message() + ")");
    const Watchdog watchdog(socket, time);
    auto [error, endpoint] = co_await asio::async_connect(socket, endpoints, asTuple);
    if (watchdog.expired())
        co_return fail(ErrorCode::DeadlineExceeded, "did not take the connection in time");
    if (error)
        co_return fail(ErrorCode::Unavailable, "does not listen (" + error.message() + ")");
    socket.set_option(Tcp::no_delay(true));
    co_return cluster::Status();
}

asio::awaitable<cluster::Result<std::string>> readGreeting(Tcp::socket &socket,
                                                           std::chrono::milliseconds time)
{
    const Watchdog watchdog(socket, time);
    const auto lost = [&watchdog] {
        return watchdog.expired() ? fail(ErrorCode::DeadlineExceeded, "was silent for too long")
                                  : fail(ErrorCode::Unavailable, "closed the connection");
    };
    std::string header(greetingHeaderBytes, '\0');
    // The magic alone first: who speaks something else may never send so many bytes.
    const auto magic = asio::buffer(header.data(), greetingMagic.size());
    if (auto [error, size] = co_await asio::async_read(socket, magic, asTuple); error)
        co_return lost();
    if (!header.starts_with(greetingMagic))
        co_return fail(ErrorCode::InvalidArgument, "speaks another protocol");
    const auto rest = asio::buffer(header.data() + greetingMagic.size(), 4);
    if (auto [error, size] = co_await asio::async_read(socket, rest, asTuple); error)
        co_return lost();
    const auto length = greetingLength(header);
    if (!length)
        co_return tl::unexpected(length.error());
    std::string body(*length, '\0');
    if (auto [error, size] = co_await asio::async_read(socket, asio::buffer(body), asTuple); error)
        co_return lost();
    co_return body;
}

asio::awaitable<bool> writeAll(Tcp::socket &socket, std::string bytes)
{
    auto [error, size] = co_await asio::async_write(socket, asio::buffer(bytes), asTuple);
    co_return !error;
}

namespace {

void close(Tcp::socket &socket)
{
    error_code ignored;
    socket.shutdown(Tcp::socket::shutdown_both, ignored);
    socket.close(ignored);
}

struct RelayState
{
    std::shared_ptr<Tcp::socket> first;
    std::shared_ptr<Tcp::socket> second;
    asio::steady_timer wake; ///< Cancelled when it is over.
    std::optional<RelayEnd> end;

    RelayState(std::shared_ptr<Tcp::socket> one, std::shared_ptr<Tcp::socket> other)
        : first(std::move(one)), second(std::move(other)),
          wake(first->get_executor(), asio::steady_timer::time_point::max())
    {
    }

    void over(RelayEnd who)
    {
        if (!end)
            end = who;
        wake.cancel();
    }
};

asio::awaitable<void> pump(std::shared_ptr<RelayState> state, bool forward)
{
    auto &from = forward ? *state->first : *state->second;
    auto &to = forward ? *state->second : *state->first;
    constexpr std::size_t chunk = 256 * 1024; // weights pass here
    std::vector<char> buffer(chunk);
    for (;;) {
        auto [unread, size] = co_await from.async_read_some(asio::buffer(buffer), asTuple);
        if (unread) {
            state->over(forward ? RelayEnd::First : RelayEnd::Second);
            break;
        }
        auto [unwritten, written] = co_await asio::async_write(to, asio::buffer(buffer, size), asTuple);
        if (unwritten) {
            state->over(forward ? RelayEnd::Second : RelayEnd::First);
            break;
        }
    }
    // The side that went is closed at once; the other one by who asked for the relay, when it knows what to
    // say.
    close(state->end == RelayEnd::First ? *state->first : *state->second);
}

} // namespace

asio::awaitable<RelayEnd> relay(std::shared_ptr<Tcp::socket> first, std::shared_ptr<Tcp::socket> second)
{
    const auto state = std::make_shared<RelayState>(std::move(first), std::move(second));
    const auto executor = co_await asio::this_coro::executor;
    asio::co_spawn(executor, pump(state, true), asio::detached);
    asio::co_spawn(executor, pump(state, false), asio::detached);
    while (!state->end)
        [[maybe_unused]] auto [cancelled] = co_await state->wake.async_wait(asTuple);
    co_return *state->end;
}

} // namespace engine
