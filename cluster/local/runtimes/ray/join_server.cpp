#include "cluster/local/runtimes/ray/join_server.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace cluster::local {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t mostStrangers = 64; ///< connections that have not joined

/// A connection before its hello.
struct Stranger
{
    std::shared_ptr<LineConnection> connection;
    asio::steady_timer deadline;
};

} // namespace

struct JoinServer::State : std::enable_shared_from_this<State>
{
    State(asio::io_context &io_, std::string session_, JoinHandlers handlers_)
        : io(io_), acceptor(io_), session(std::move(session_)), handlers(std::move(handlers_))
    {
    }

    void accept();
    void meet(asio::ip::tcp::socket socket);
    void onFirstLine(const std::shared_ptr<Stranger> &stranger, std::string_view line);
    void onLine(const std::string &node, std::string_view line);
    void lose(const std::string &node);
    void close();

    asio::io_context &io;
    asio::ip::tcp::acceptor acceptor;
    std::string session;
    JoinHandlers handlers;
    std::set<std::shared_ptr<Stranger>> strangers;
    std::map<std::string, std::shared_ptr<LineConnection>> joined; ///< by node id
    bool isClosed = false;
};

void JoinServer::State::accept()
{
    acceptor.async_accept([self = shared_from_this()](error_code error, asio::ip::tcp::socket socket) {
        if (self->isClosed || error == asio::error::operation_aborted)
            return;
        if (!error && self->strangers.size() < mostStrangers)
            self->meet(std::move(socket));
        self->accept();
    });
}

void JoinServer::State::meet(asio::ip::tcp::socket socket)
{
    auto stranger = std::make_shared<Stranger>(
        Stranger{std::make_shared<LineConnection>(std::move(socket)), asio::steady_timer(io)});
    strangers.insert(stranger);
    const std::weak_ptr<State> weak = weak_from_this();
    const std::weak_ptr<Stranger> weakStranger = stranger;
    const auto forget = [weak, weakStranger] {
        const auto state = weak.lock();
        const auto gone = weakStranger.lock();
        if (state && gone && state->strangers.erase(gone) > 0)
            gone->connection->close();
    };
    stranger->deadline.expires_after(std::chrono::seconds(10));
    stranger->deadline.async_wait([forget](error_code error) {
        if (!error)
            forget();
    });
    stranger->connection->start({[weak, weakStranger](std::string_view line) {
                                     const auto state = weak.lock();
                                     const auto known = weakStranger.lock();
                                     if (state && known)
                                         state->onFirstLine(known, line);
                                 },
                                 forget});
}

void JoinServer::State::onFirstLine(const std::shared_ptr<Stranger> &stranger, std::string_view line)
{
    const auto connection = stranger->connection;
    stranger->deadline.cancel();
    strangers.erase(stranger);
    auto message = readWorkerMessage(line);
    auto *hello = message ? std::get_if<WorkerHello>(&*message) : nullptr;
    if (hello == nullptr || hello->protocol != joinProtocol) {
        connection->send(refusalLine(!message ? message.error().message
                                         : hello == nullptr
                                         ? std::string("a worker says hello first")
                                         : "this head speaks protocol " + std::to_string(joinProtocol)));
        connection->closeWhenSent();
        return;
    }
    const std::string node = handlers.onJoin(std::move(hello->facts));
    joined[node] = connection;
    connection->setHandlers({[weak = weak_from_this(), node](std::string_view next) {
                                 if (const auto state = weak.lock())
                                     state->onLine(node, next);
                             },
                             [weak = weak_from_this(), node] {
                                 if (const auto state = weak.lock())
                                     state->lose(node);
                             }});
    connection->send(welcomeLine(node, session));
}

void JoinServer::State::onLine(const std::string &node, std::string_view line)
{
    auto message = readWorkerMessage(line);
    if (message && !std::holds_alternative<WorkerHello>(*message)) {
        handlers.onMessage(node, std::move(*message));
        return;
    }
    if (const auto found = joined.find(node); found != joined.end())
        found->second->close();
    lose(node);
}

void JoinServer::State::lose(const std::string &node)
{
    if (joined.erase(node) > 0)
        handlers.onLost(node);
}

void JoinServer::State::close()
{
    isClosed = true;
    error_code ignored;
    acceptor.close(ignored);
    for (const auto &stranger : strangers)
        stranger->connection->close();
    for (const auto &[node, connection] : joined)
        connection->close();
    strangers.clear();
    joined.clear();
}

JoinServer::JoinServer(asio::io_context &io, std::string session, JoinHandlers handlers)
    : m_state(std::make_shared<State>(io, std::move(session), std::move(handlers)))
{
}

JoinServer::~JoinServer()
{
    m_state->close();
}

Status JoinServer::listen(const std::string &address, unsigned short port)
{
    error_code error;
    const auto ip = asio::ip::make_address(address, error);
    if (error)
        return fail(ErrorCode::InvalidArgument, "ray start: '" + address + "' is no address");
    asio::ip::tcp::acceptor &acceptor = m_state->acceptor;
    const asio::ip::tcp::endpoint endpoint(ip, port);
    acceptor.open(endpoint.protocol(), error);
    if (!error)
        acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error)
        acceptor.bind(endpoint, error);
    if (!error)
        acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error)
        return fail(ErrorCode::AlreadyExists,
                    "ray start: the GCS can't listen on " + address + ":" + std::to_string(port) + ": "
                        + error.message());
    m_state->accept();
    return {};
}

unsigned short JoinServer::port() const
{
    error_code error;
    const auto endpoint = m_state->acceptor.local_endpoint(error);
    return error ? 0 : endpoint.port();
}

void JoinServer::send(const std::string &node, const std::string &line)
{
    if (const auto found = m_state->joined.find(node); found != m_state->joined.end())
        found->second->send(line);
}

void JoinServer::sendToAll(const std::string &line)
{
    const auto all = m_state->joined; // sending may lose one
    for (const auto &[node, connection] : all)
        connection->send(line);
}

void JoinServer::drop(const std::string &node)
{
    const auto found = m_state->joined.find(node);
    if (found == m_state->joined.end())
        return;
    const auto connection = found->second;
    m_state->joined.erase(found);
    connection->close();
}

} // namespace cluster::local
