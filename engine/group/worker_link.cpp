#include "engine/group/worker_link.h"

#include "engine/group/greeting.h"
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace engine {

namespace asio = boost::asio;
using boost::system::error_code;
using cluster::ErrorCode;
using cluster::fail;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

std::string inSeconds(milliseconds time)
{
    const auto text = std::to_string(static_cast<double>(time.count()) / 1000.0);
    return text.substr(0, text.find('.') + 2) + " s";
}

/// Is it worth trying again until the deadline? A worker may still be starting, or ending its last session;
/// in a cluster its name comes with its pod.
bool mayPass(ErrorCode code)
{
    return code == ErrorCode::Unavailable || code == ErrorCode::ResourceExhausted
        || code == ErrorCode::DeadlineExceeded || code == ErrorCode::NotFound;
}

} // namespace

WorkerLink::WorkerLink(asio::io_context &context, WorkerLinkOptions options,
                       std::function<void(const std::string &)> lost)
    : m_context(context), m_options(std::move(options)), m_lost(std::move(lost)), m_control(context),
      m_relay(context)
{
}

std::string WorkerLink::name() const
{
    return "worker " + m_options.host + ":" + std::to_string(m_options.port);
}

std::string WorkerLink::relayEndpoint() const
{
    error_code ignored;
    return "127.0.0.1:" + std::to_string(m_relay.local_endpoint(ignored).port());
}

asio::awaitable<cluster::Status> WorkerLink::greet(Tcp::socket &socket, bool control, milliseconds time)
{
    auto status = co_await connectTo(socket, m_options.host, m_options.port, time);
    if (!status)
        co_return status;
    Hello hello;
    hello.protocol = groupProtocol;
    hello.build = m_options.build;
    hello.role = control ? Hello::Role::Control : Hello::Role::Stream;
    hello.token = m_options.token;
    hello.session = m_session;
    const std::string bytes = encode(hello);
    const bool sent = co_await writeAll(socket, bytes);
    if (!sent)
        co_return fail(ErrorCode::Unavailable, "closed the connection");
    const auto greeting = co_await readGreeting(socket, time);
    if (!greeting)
        co_return fail(greeting.error().code, greeting.error().message);
    const auto answer = decodeHelloAnswer(*greeting);
    if (!answer)
        co_return tl::unexpected(answer.error());
    if (!answer->accepted)
        co_return fail(answer->code, "refused this leader: " + answer->message);
    if (control)
        m_session = answer->session;
    co_return cluster::Status();
}

asio::awaitable<cluster::Status> WorkerLink::openOnce(milliseconds time)
{
    m_control = Tcp::socket(m_context);
    const auto greeted = co_await greet(m_control, true, time);
    co_return greeted;
}

asio::awaitable<cluster::Status> WorkerLink::open()
{
    const auto self = shared_from_this();
    const auto end = Clock::now() + m_options.openDeadline;
    cluster::Status status;
    std::string told;
    for (;;) {
        const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
        status = co_await openOnce(std::max(left, milliseconds(1)));
        if (m_closed)
            co_return fail(ErrorCode::Cancelled, name() + ": the group was ended");
        if (status)
            break;
        if (!mayPass(status.error().code))
            co_return fail(status.error().code, name() + " " + status.error().message);
        // The last try may have been cut short: what an earlier one was told says more.
        if (status.error().code == ErrorCode::DeadlineExceeded && !told.empty())
            status.error().message = told;
        told = status.error().message;
        if (Clock::now() >= end)
            co_return fail(ErrorCode::DeadlineExceeded,
                           name() + " " + status.error().message + "; waited "
                               + inSeconds(m_options.openDeadline));
        asio::steady_timer pause(m_context, milliseconds(100));
        [[maybe_unused]] auto [cancelled] = co_await pause.async_wait(asTuple);
    }
    error_code error;
    m_relay.open(Tcp::v4(), error);
    if (!error)
        m_relay.bind({asio::ip::address_v4::loopback(), 0}, error);
    if (!error)
        m_relay.listen(Tcp::acceptor::max_listen_connections, error);
    if (error)
        co_return fail(ErrorCode::Unavailable,
                       name() + ": no loopback port to relay from: " + error.message());
    asio::co_spawn(m_context, beat(), asio::detached);
    asio::co_spawn(m_context, acceptStreams(), asio::detached);
    co_return cluster::Status();
}

asio::awaitable<void> WorkerLink::beat()
{
    const auto self = shared_from_this();
    const auto period = std::min(m_options.heartbeatDeadline / 5, milliseconds(500));
    while (!m_closed) {
        std::string answer(1, '\0');
        {
            const Watchdog watchdog(m_control, m_options.heartbeatDeadline);
            const std::string beat = ".";
            const bool sent = co_await writeAll(m_control, beat);
            auto [error, size] = co_await asio::async_read(m_control, asio::buffer(answer), asTuple);
            if (watchdog.expired()) {
                lose("did not answer for " + inSeconds(m_options.heartbeatDeadline));
                co_return;
            }
            if (!sent || error) {
                lose("closed the connection");
                co_return;
            }
        }
        if (answer != "+") {
            const Watchdog watchdog(m_control, m_options.heartbeatDeadline);
            std::string reason(500, '\0');
            auto [error, size] = co_await asio::async_read(m_control, asio::buffer(reason), asTuple);
            reason.resize(size);
            lose(reason.empty() ? std::string("reported a failure") : "reports that " + reason);
            co_return;
        }
        asio::steady_timer pause(m_context, period);
        [[maybe_unused]] auto [cancelled] = co_await pause.async_wait(asTuple);
    }
}

asio::awaitable<void> WorkerLink::acceptStreams()
{
    const auto self = shared_from_this();
    while (!m_closed) {
        auto local = std::make_shared<Tcp::socket>(m_context);
        auto [error] = co_await m_relay.async_accept(*local, asTuple);
        if (error) {
            if (!m_closed)
                lose("can't be relayed to: " + error.message());
            co_return;
        }
        asio::co_spawn(m_context, passStream(std::move(local)), asio::detached);
    }
}

asio::awaitable<void> WorkerLink::passStream(std::shared_ptr<Tcp::socket> local)
{
    const auto self = shared_from_this();
    error_code ignored;
    local->set_option(Tcp::no_delay(true), ignored);
    const auto remote = std::make_shared<Tcp::socket>(m_context);
    std::erase_if(m_streams, [](const auto &weak) { return weak.expired(); });
    m_streams.insert(m_streams.end(), {local, remote});
    const auto greeted = co_await greet(*remote, false, m_options.heartbeatDeadline);
    if (greeted) {
        const RelayEnd end = co_await relay(local, remote);
        if (end == RelayEnd::Second)
            lose("closed the stream of its RPC server");
    } else {
        lose(greeted.error().message);
    }
    // Only now: the runner aborts as soon as it sees the end, and the reason above is to be told first.
    local->close(ignored);
    remote->close(ignored);
}

void WorkerLink::lose(const std::string &reason)
{
    if (m_closed || !m_lostReason.empty())
        return;
    m_lostReason = name() + " " + reason;
    if (m_lost)
        m_lost(m_lostReason);
}

void WorkerLink::close()
{
    m_closed = true;
    m_lost = nullptr;
    error_code ignored;
    m_control.close(ignored);
    m_relay.close(ignored);
    for (const auto &weak : m_streams) {
        if (const auto socket = weak.lock())
            socket->close(ignored);
    }
}

} // namespace engine
