#include "engine/group/worker_server.h"

#include "engine/group/greeting.h"
#include "engine/group/rpc_child.h"
#include "engine/group/stream.h"
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <vector>

namespace engine {

namespace asio = boost::asio;
using boost::system::error_code;
using cluster::ErrorCode;
using cluster::fail;

namespace {

constexpr std::size_t maxConnections = 64; ///< With those that have not greeted yet.

/// One leader: from an accepted hello to the end of its control connection.
struct Session
{
    std::string name;
    std::unique_ptr<RpcChild> child;
    std::uint16_t port = 0;
    std::vector<std::weak_ptr<Tcp::socket>> sockets;
    std::string turnedAway; ///< Last other leader's address: it tries again and again, one line does.

    void end()
    {
        child.reset();
        for (const auto &weak : sockets) {
            error_code ignored;
            if (const auto socket = weak.lock())
                socket->close(ignored);
        }
    }
};

// No temporary that needs a destructor may stand in a co_await expression here: GCC 12 destroys some of them
// twice.
const std::string loopback = "127.0.0.1";

HelloAnswer acceptance(std::string session)
{
    return {true, ErrorCode::Unknown, {}, std::move(session)};
}

asio::awaitable<bool> say(Tcp::socket &socket, const HelloAnswer &answer)
{
    const std::string bytes = encode(answer);
    const bool sent = co_await writeAll(socket, bytes);
    co_return sent;
}

HelloAnswer refusal(ErrorCode code, std::string message)
{
    return {false, code, std::move(message), {}};
}

} // namespace

struct WorkerServer::State : std::enable_shared_from_this<WorkerServer::State>
{
    State(asio::io_context &theContext, WorkerServerOptions theOptions)
        : context(theContext), options(std::move(theOptions)), acceptor(context)
    {
    }

    asio::io_context &context;
    WorkerServerOptions options;
    Tcp::acceptor acceptor;
    std::shared_ptr<Session> session;
    std::size_t connections = 0;
    bool closed = false;

    void log(const std::string &line) const
    {
        if (options.log)
            options.log(line);
    }

    cluster::Status listen();
    asio::awaitable<void> acceptAll();
    asio::awaitable<void> serve(std::shared_ptr<Tcp::socket> socket);
    [[nodiscard]] cluster::Result<Hello> checked(const cluster::Result<std::string> &greeting,
                                                 HelloAnswer &answer) const;
    asio::awaitable<void> lead(std::shared_ptr<Tcp::socket> socket, std::string from);
    asio::awaitable<cluster::Status> startChild(std::shared_ptr<Session> forSession);
    asio::awaitable<void> beat(Tcp::socket &socket, const Session &current, const std::string &from);
    asio::awaitable<void> pass(std::shared_ptr<Tcp::socket> socket, std::string name);
    void close();
};

cluster::Status WorkerServer::State::listen()
{
    const std::string where = options.host + ":" + std::to_string(options.port);
    error_code error;
    Tcp::resolver resolver(context);
    const auto found = resolver.resolve(options.host, std::to_string(options.port), error);
    if (error || found.empty())
        return fail(ErrorCode::NotFound, "cannot listen on " + where + ": the host has no address");
    const Tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor.open(endpoint.protocol(), error);
    if (!error)
        acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
    if (!error)
        acceptor.bind(endpoint, error);
    if (!error)
        acceptor.listen(Tcp::acceptor::max_listen_connections, error);
    if (!error)
        return {};
    if (error == asio::error::address_in_use)
        return fail(ErrorCode::AlreadyExists,
                    "cannot listen on " + where + ": the port is in use; choose another one with --listen");
    return fail(ErrorCode::Unavailable, "cannot listen on " + where + ": " + error.message());
}

asio::awaitable<void> WorkerServer::State::acceptAll()
{
    const auto self = shared_from_this();
    while (!closed) {
        auto socket = std::make_shared<Tcp::socket>(context);
        auto [error] = co_await acceptor.async_accept(*socket, asTuple);
        if (error == asio::error::operation_aborted || closed)
            break;
        if (error) { // no descriptors left, or the peer has gone already: go on a little later
            asio::steady_timer pause(context, std::chrono::milliseconds(50));
            [[maybe_unused]] auto [cancelled] = co_await pause.async_wait(asTuple);
            continue;
        }
        if (connections >= maxConnections)
            continue; // closes it
        asio::co_spawn(context, serve(std::move(socket)), asio::detached);
    }
}

asio::awaitable<void> WorkerServer::State::serve(std::shared_ptr<Tcp::socket> socket)
{
    const auto self = shared_from_this();
    ++connections;
    error_code ignored;
    socket->set_option(Tcp::no_delay(true), ignored);
    const auto peer = socket->remote_endpoint(ignored);
    const std::string from = peer.address().to_string(ignored) + ":" + std::to_string(peer.port());
    HelloAnswer answer;
    const auto greeting = co_await readGreeting(*socket, options.helloDeadline);
    const auto hello = checked(greeting, answer);
    if (closed) {
        // nothing more
    } else if (!hello) {
        log("refused " + from + ": " + hello.error().message);
        if (!answer.message.empty())
            co_await say(*socket, answer);
    } else if (hello->role == Hello::Role::Control) {
        co_await lead(socket, from);
    } else {
        co_await pass(socket, hello->session);
    }
    socket->close(ignored);
    --connections;
}

/// Who may go on. `answer` is filled where the peer speaks our protocol and should hear why not.
cluster::Result<Hello> WorkerServer::State::checked(const cluster::Result<std::string> &greeting,
                                                    HelloAnswer &answer) const
{
    if (!greeting)
        return fail(greeting.error().code, "it " + greeting.error().message);
    auto hello = decodeHello(*greeting);
    if (!hello)
        answer = refusal(ErrorCode::InvalidArgument, hello.error().message);
    // The token before the rest: who does not know it learns nothing else.
    else if (!sameSecret(hello->token, options.token))
        answer = refusal(ErrorCode::Unauthenticated, "the token is wrong");
    else if (hello->protocol != groupProtocol || hello->build != options.build)
        answer = refusal(ErrorCode::FailedPrecondition,
                         "this worker is build " + options.build + ", the leader " + hello->build
                             + ": leader and workers must be the same build");
    if (!answer.message.empty())
        return fail(answer.code, answer.message);
    return hello;
}

asio::awaitable<cluster::Status> WorkerServer::State::startChild(std::shared_ptr<Session> forSession)
{
    const auto port = freeLoopbackPort();
    if (!port)
        co_return tl::unexpected(port.error());
    forSession->port = *port;
    auto child = RpcChild::start(
        context, options.rpcServer(*port),
        [self = shared_from_this()](std::string_view line) { self->log(std::string(line)); });
    if (!child)
        co_return tl::unexpected(child.error());
    forSession->child = std::move(*child);
    const auto end = std::chrono::steady_clock::now() + options.startDeadline;
    while (forSession->child && std::chrono::steady_clock::now() < end) {
        if (const auto trouble = forSession->child->trouble(); !trouble.empty())
            co_return fail(ErrorCode::Unavailable, "the worker's RPC server " + trouble);
        Tcp::socket probe(context);
        const auto connected = co_await connectTo(probe, loopback, *port, std::chrono::milliseconds(1000));
        if (connected)
            co_return cluster::Status();
        asio::steady_timer pause(context, std::chrono::milliseconds(20));
        [[maybe_unused]] auto [cancelled] = co_await pause.async_wait(asTuple);
    }
    co_return fail(ErrorCode::DeadlineExceeded, "the worker's RPC server does not listen");
}

asio::awaitable<void> WorkerServer::State::lead(std::shared_ptr<Tcp::socket> socket, std::string from)
{
    if (session) {
        if (const std::string address = from.substr(0, from.rfind(':')); session->turnedAway != address) {
            session->turnedAway = address;
            log("refused " + from + ": busy with another leader");
        }
        const auto no = refusal(ErrorCode::ResourceExhausted, "the worker is busy with another leader");
        co_await say(*socket, no);
        co_return;
    }
    const auto mine = std::make_shared<Session>();
    mine->name = newSessionName();
    mine->sockets.push_back(socket);
    session = mine;
    log("leader " + from + " connected");
    const auto started = co_await startChild(mine);
    if (started) {
        const auto yes = acceptance(mine->name);
        const bool said = co_await say(*socket, yes);
        if (said)
            co_await beat(*socket, *mine, from);
    } else {
        log(started.error().message);
        const auto no = refusal(started.error().code, started.error().message);
        co_await say(*socket, no);
    }
    mine->end();
    if (session == mine)
        session.reset();
    log("leader " + from + " is gone; ready for the next one");
}

/// Answers each byte of the leader's with '+' as long as the RPC server is well, then with '!' and what it
/// has.
asio::awaitable<void> WorkerServer::State::beat(Tcp::socket &socket, const Session &current,
                                                const std::string &from)
{
    Watchdog watchdog(socket, options.leaderDeadline);
    for (;;) {
        char byte = 0;
        auto [error, size] = co_await socket.async_read_some(asio::buffer(&byte, 1), asTuple);
        if (watchdog.expired())
            log("leader " + from + " was silent for too long");
        if (error)
            co_return;
        watchdog.feed();
        const auto trouble = current.child ? current.child->trouble() : std::string("is gone");
        if (!trouble.empty()) {
            log("the RPC server " + trouble);
            const std::string last = "!its RPC server " + trouble;
            co_await writeAll(socket, last);
            co_return;
        }
        const std::string well = "+";
        const bool answered = co_await writeAll(socket, well);
        if (!answered)
            co_return;
    }
}

asio::awaitable<void> WorkerServer::State::pass(std::shared_ptr<Tcp::socket> socket, std::string name)
{
    const auto mine = session;
    if (!mine || !sameSecret(mine->name, name)) {
        const auto no = refusal(ErrorCode::NotFound, "there is no such session");
        co_await say(*socket, no);
        co_return;
    }
    const auto inner = std::make_shared<Tcp::socket>(context);
    std::erase_if(mine->sockets, [](const auto &weak) { return weak.expired(); });
    mine->sockets.insert(mine->sockets.end(), {socket, inner});
    const auto connected = co_await connectTo(*inner, loopback, mine->port, options.helloDeadline);
    if (!connected) {
        const auto no = refusal(ErrorCode::Unavailable, "its RPC server " + connected.error().message);
        co_await say(*socket, no);
        co_return;
    }
    const auto yes = acceptance({});
    const bool said = co_await say(*socket, yes);
    if (said)
        co_await relay(socket, inner);
    error_code ignored;
    socket->close(ignored);
    inner->close(ignored);
}

void WorkerServer::State::close()
{
    closed = true;
    error_code ignored;
    acceptor.close(ignored);
    if (session)
        session->end();
    options.log = nullptr;
}

WorkerServer::WorkerServer(asio::io_context &context, WorkerServerOptions options)
    : m_state(std::make_shared<State>(context, std::move(options)))
{
}

WorkerServer::~WorkerServer()
{
    m_state->close();
}

cluster::Status WorkerServer::listen()
{
    auto status = m_state->listen();
    if (status)
        asio::co_spawn(m_state->context, m_state->acceptAll(), asio::detached);
    return status;
}

std::uint16_t WorkerServer::port() const
{
    error_code ignored;
    return m_state->acceptor.local_endpoint(ignored).port();
}

bool WorkerServer::hasLeader() const
{
    return m_state->session != nullptr;
}

int WorkerServer::rpcServerPid() const
{
    const auto &session = m_state->session;
    return session && session->child ? session->child->pid() : -1;
}

} // namespace engine
