#include "engine/serving/http_server.h"

#include "engine/serving/http_session.h"
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>

namespace asio = boost::asio;
using asio::ip::tcp;

namespace engine {

namespace {

constexpr auto asTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kAcceptPause{50}; // out of descriptors or at the limit

boost::system::error_code open(tcp::acceptor &acceptor, const tcp::endpoint &endpoint)
{
    boost::system::error_code error;
    acceptor.open(endpoint.protocol(), error);
    if (!error)
        acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && endpoint.protocol() == tcp::v6())
        acceptor.set_option(asio::ip::v6_only(false), error);
    if (!error)
        acceptor.bind(endpoint, error);
    if (!error)
        acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error && acceptor.is_open()) {
        boost::system::error_code ignored;
        acceptor.close(ignored);
    }
    return error;
}

cluster::Error listenError(const std::string &host, std::uint16_t port, boost::system::error_code error)
{
    const std::string where = (host.empty() ? "all interfaces" : host) + ", port " + std::to_string(port);
    if (error == asio::error::address_in_use) {
        return {cluster::ErrorCode::AlreadyExists,
                "Cannot listen on " + where + ": the port is in use. Choose another with --port."};
    }
    return {cluster::ErrorCode::Unavailable, "Cannot listen on " + where + ": " + error.message() + "."};
}

} // namespace

struct HttpServer::State : std::enable_shared_from_this<HttpServer::State>
{
    State(asio::io_context &context, const ServerOptions &serverOptions, Handler onRequest, Observer onServed)
        : io(context), options(serverOptions), handler(std::move(onRequest)), served(std::move(onServed)),
          acceptor(context), pause(context), deadline(context)
    {
    }

    asio::awaitable<void> acceptLoop();
    void adopt(tcp::socket socket);
    void closeAll();
    bool closeOldestIdle();
    void sessionClosed();

    asio::io_context &io;
    const ServerOptions options;
    Handler handler;
    Observer served;
    tcp::acceptor acceptor;
    asio::steady_timer pause;
    asio::steady_timer deadline;
    std::list<std::weak_ptr<HttpSession>> sessions;
    std::size_t openCount = 0;
    std::function<void()> stopped;
    bool stopping = false;
};

asio::awaitable<void> HttpServer::State::acceptLoop()
{
    const auto self = shared_from_this();
    while (acceptor.is_open()) {
        if (openCount >= options.maxConnections && !closeOldestIdle()) {
            pause.expires_after(kAcceptPause);
            co_await pause.async_wait(asTuple);
            continue;
        }
        auto [error, socket] = co_await acceptor.async_accept(asTuple);
        if (!acceptor.is_open())
            break;
        if (error && (error != asio::error::no_descriptors || !closeOldestIdle())) {
            pause.expires_after(kAcceptPause);
            co_await pause.async_wait(asTuple);
            continue;
        }
        if (!error)
            adopt(std::move(socket));
    }
}

/// Who asks nothing makes room for who may: a crowd of silent connections must not lock the others out.
bool HttpServer::State::closeOldestIdle()
{
    for (const auto &weak : sessions) {
        const auto session = weak.lock();
        if (session && session->isIdle()) {
            session->close();
            return true;
        }
    }
    return false;
}

void HttpServer::State::adopt(tcp::socket socket)
{
    HttpSession::Hooks hooks;
    hooks.handle = [weak = weak_from_this()](const ExchangePtr &exchange) {
        if (const auto self = weak.lock(); self && self->handler)
            self->handler(exchange);
    };
    hooks.served = [weak = weak_from_this()](const Exchange &exchange) {
        if (const auto self = weak.lock(); self && self->served)
            self->served(exchange);
    };
    hooks.closed = [weak = weak_from_this()] {
        if (const auto self = weak.lock())
            self->sessionClosed();
    };
    auto session = std::make_shared<HttpSession>(std::move(socket), options, std::move(hooks));
    sessions.remove_if([](const auto &known) { return known.expired(); });
    sessions.push_back(session);
    ++openCount;
    session->start();
}

void HttpServer::State::sessionClosed()
{
    --openCount;
    if (stopping && openCount == 0) {
        deadline.cancel();
        if (auto done = std::exchange(stopped, nullptr))
            asio::post(io, std::move(done));
    }
}

void HttpServer::State::closeAll()
{
    const auto open = sessions; // sessions end while this runs
    for (const auto &weak : open) {
        if (const auto session = weak.lock())
            session->close();
    }
}

HttpServer::HttpServer(asio::io_context &io, const ServerOptions &options, Handler handler, Observer served)
    : m_state(std::make_shared<State>(io, options, std::move(handler), std::move(served)))
{
}

HttpServer::~HttpServer()
{
    m_state->stopped = nullptr;
    boost::system::error_code ignored;
    m_state->acceptor.close(ignored);
    m_state->pause.cancel();
    m_state->deadline.cancel();
    m_state->closeAll();
    m_state->handler = nullptr;
    m_state->served = nullptr;
}

cluster::Status HttpServer::listen()
{
    const std::string &host = m_state->options.host;
    const std::uint16_t port = m_state->options.port;
    boost::system::error_code error;
    if (host.empty()) {
        error = open(m_state->acceptor, {tcp::v6(), port});
        if (error && error != asio::error::address_in_use) // a kernel without IPv6
            error = open(m_state->acceptor, {tcp::v4(), port});
    } else {
        tcp::resolver resolver(m_state->io);
        const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
        if (error || found.empty()) {
            return cluster::fail(cluster::ErrorCode::NotFound,
                                 "Cannot listen: the host '" + host + "' has no address (" + error.message()
                                     + "). Check --host.");
        }
        error = open(m_state->acceptor, found.begin()->endpoint());
    }
    if (error)
        return tl::unexpected(listenError(host, port, error));
    asio::co_spawn(
        m_state->io, [state = m_state] { return state->acceptLoop(); }, asio::detached);
    return {};
}

std::uint16_t HttpServer::port() const
{
    boost::system::error_code ignored;
    return m_state->acceptor.local_endpoint(ignored).port();
}

std::size_t HttpServer::connectionCount() const
{
    return m_state->openCount;
}

void HttpServer::stop(std::function<void()> stopped)
{
    State &state = *m_state;
    if (state.stopping)
        return;
    state.stopping = true;
    state.stopped = std::move(stopped);
    boost::system::error_code ignored;
    state.acceptor.close(ignored);
    state.pause.cancel();
    if (state.openCount == 0) {
        if (auto done = std::exchange(state.stopped, nullptr))
            asio::post(state.io, std::move(done));
        return;
    }
    const auto open = state.sessions;
    for (const auto &weak : open) {
        if (const auto session = weak.lock())
            session->finishSoon();
    }
    state.deadline.expires_after(state.options.shutdownTimeout);
    state.deadline.async_wait([weak = std::weak_ptr(m_state)](boost::system::error_code error) {
        if (const auto self = weak.lock(); self && !error)
            self->closeAll();
    });
}

} // namespace engine
