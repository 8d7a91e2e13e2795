#include "cluster/httpd/http_listener.h"

#include "cluster/httpd/http_session.h"
#include "cluster/httpd/socket_streams.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace asio = boost::asio;

namespace cluster {

namespace {

using Local = asio::local::stream_protocol;
using Tcp = asio::ip::tcp;
constexpr std::chrono::milliseconds kAcceptAgain{50}; // after an error such as too many open files

tl::unexpected<Error> cannotListen(const std::string &where, const boost::system::error_code &error)
{
    const bool isTaken = error == asio::error::address_in_use;
    return fail(isTaken                                   ? ErrorCode::AlreadyExists
                    : error == asio::error::access_denied ? ErrorCode::PermissionDenied
                                                          : ErrorCode::Internal,
                "cannot listen on " + where + ": "
                    + (isTaken ? std::string("another program does") : error.message()));
}

ConnectionEnds endsOf(const Tcp::endpoint &local, const Tcp::endpoint &remote)
{
    if (!local.address().is_v4() || !remote.address().is_v4())
        return {};
    return {local.address().to_v4().to_uint(), remote.address().to_v4().to_uint(), local.port(),
            remote.port()};
}

/// A socket file that nobody listens on any more is removed.
Status clearStaleSocket(asio::io_context &io, const std::string &path)
{
    struct stat info
    {
    };
    if (::lstat(path.c_str(), &info) != 0)
        return {};
    if (!S_ISSOCK(info.st_mode))
        return fail(ErrorCode::AlreadyExists, "cannot listen on " + path + ": it is a file of another kind");
    Local::socket probe(io);
    boost::system::error_code error;
    probe.connect(Local::endpoint(path), error);
    if (!error)
        return fail(ErrorCode::AlreadyExists, "cannot listen on " + path + ": another program does");
    ::unlink(path.c_str());
    return {};
}

} // namespace

class HttpListener::Private : public std::enable_shared_from_this<Private>
{
public:
    Private(asio::io_context &context, ListenerOptions given, Handler fn)
        : io(context), options(std::make_shared<const ListenerOptions>(std::move(given))),
          handler(std::move(fn)), tcp(context), local(context), pause(context)
    {
    }

    Status listenTcp();
    Status listenUnix();
    void accept();
    void close();

private:
    void accepted(const boost::system::error_code &error, Tcp::socket socket);
    void startSession(std::unique_ptr<ByteStream> stream, Peer peer);
    void makeRoom();
    void acceptLater();

public:
    asio::io_context &io;
    std::shared_ptr<const ListenerOptions> options;
    Handler handler;
    Tcp::acceptor tcp;
    Local::acceptor local;
    std::unique_ptr<TlsAcceptor> tls;
    asio::steady_timer pause;
    std::vector<std::shared_ptr<HttpSession>> sessions; ///< oldest first
    std::size_t handshakes = 0;
    bool isAccepting = false;
    bool isClosed = false;
};

Status HttpListener::Private::listenTcp()
{
    boost::system::error_code error;
    const auto address = asio::ip::make_address(options->address, error);
    if (error)
        return fail(ErrorCode::InvalidArgument, "'" + options->address + "' is no address to listen on");
    const Tcp::endpoint endpoint(address, options->port);
    tcp.open(endpoint.protocol(), error);
    if (!error)
        tcp.set_option(asio::socket_base::reuse_address(true), error);
    if (!error)
        tcp.bind(endpoint, error);
    if (!error)
        tcp.listen(asio::socket_base::max_listen_connections, error);
    if (error)
        return cannotListen(options->address + ":" + std::to_string(options->port), error);
    return {};
}

Status HttpListener::Private::listenUnix()
{
    const std::string &path = options->unixPath;
    if (const Status cleared = clearStaleSocket(io, path); !cleared)
        return cleared;
    boost::system::error_code error;
    try {
        const Local::endpoint endpoint(path); // throws when the path is too long
        local.open(endpoint.protocol(), error);
        if (!error)
            local.bind(endpoint, error);
    } catch (const boost::system::system_error &tooLong) {
        return fail(ErrorCode::InvalidArgument, "cannot listen on " + path + ": " + tooLong.what());
    }
    // Nobody can connect before listen(), so the mode is there in time.
    if (!error && ::chmod(path.c_str(), 0600) != 0)
        error.assign(errno, boost::system::system_category());
    if (!error)
        local.listen(asio::socket_base::max_listen_connections, error);
    if (error)
        return cannotListen(path, error);
    return {};
}

void HttpListener::Private::accept()
{
    if (isClosed || isAccepting)
        return;
    // One more than allowed: only then is it known that somebody waits for a place.
    if (sessions.size() + handshakes > options->limits.maxConnections) {
        makeRoom();
        acceptLater();
        return;
    }
    isAccepting = true;
    const auto self = shared_from_this();
    if (!options->unixPath.empty()) {
        local.async_accept([self](const boost::system::error_code &error, Local::socket socket) {
            self->isAccepting = false;
            if (self->isClosed)
                return;
            if (error) {
                self->acceptLater();
                return;
            }
            self->startSession(streamOf(std::move(socket)), {});
            self->accept();
        });
    } else {
        tcp.async_accept([self](const boost::system::error_code &error, Tcp::socket socket) {
            self->isAccepting = false;
            self->accepted(error, std::move(socket));
        });
    }
}

/// Accepting again at once would spin while, say, too many files are open.
void HttpListener::Private::acceptLater()
{
    pause.expires_after(kAcceptAgain);
    pause.async_wait([self = shared_from_this()](const boost::system::error_code &stopped) {
        if (!stopped)
            self->accept();
    });
}

void HttpListener::Private::accepted(const boost::system::error_code &error, Tcp::socket socket)
{
    if (isClosed)
        return;
    if (error) {
        acceptLater();
        return;
    }
    boost::system::error_code ignored;
    socket.set_option(Tcp::no_delay(true), ignored);
    const auto endpoint = socket.local_endpoint(ignored);
    const auto remote = socket.remote_endpoint(ignored);
    if (options->admits && !options->admits(endsOf(endpoint, remote))) {
        socket.close(ignored);
        accept();
        return;
    }
    Peer peer{{}, endpoint.address().to_string(), endpoint.port(), remote.address().to_string()};
    if (!tls) {
        startSession(streamOf(std::move(socket)), std::move(peer));
    } else {
        ++handshakes;
        tls->handshake(
            std::move(socket), options->limits.headerTimeout,
            [self = shared_from_this(), peer](std::unique_ptr<ByteStream> stream, std::string name) {
                --self->handshakes;
                Peer known = peer;
                known.commonName = std::move(name);
                if (stream && !self->isClosed)
                    self->startSession(std::move(stream), std::move(known));
                self->accept();
            });
    }
    accept();
}

void HttpListener::Private::startSession(std::unique_ptr<ByteStream> stream, Peer peer)
{
    // The session is known by its address only: a pointer in its own callback would keep it alive.
    const auto slot = std::make_shared<const HttpSession *>(nullptr);
    auto session = std::make_shared<HttpSession>(
        std::move(stream), io.get_executor(), std::move(peer), options, handler,
        [weak = weak_from_this(), slot] {
            const auto self = weak.lock();
            if (!self)
                return;
            std::erase_if(self->sessions, [&](const auto &other) { return other.get() == *slot; });
            self->accept();
        });
    *slot = session.get();
    sessions.push_back(session);
    session->start();
}

/// One that only waits for its next request makes way for somebody new.
void HttpListener::Private::makeRoom()
{
    const auto idle = std::find_if(sessions.begin(), sessions.end(),
                                   [](const auto &session) { return session->isIdle(); });
    if (idle != sessions.end())
        (*idle)->close();
}

void HttpListener::Private::close()
{
    if (isClosed)
        return;
    isClosed = true;
    boost::system::error_code ignored;
    tcp.close(ignored);
    if (local.is_open()) {
        local.close(ignored);
        ::unlink(options->unixPath.c_str());
    }
    pause.cancel();
    const auto open = sessions; // they take themselves off the list
    for (const auto &session : open)
        session->close();
}

HttpListener::HttpListener(std::shared_ptr<Private> d) : d(std::move(d)) {}

HttpListener::~HttpListener()
{
    close();
}

Result<std::unique_ptr<HttpListener>> HttpListener::open(asio::io_context &io, ListenerOptions options,
                                                         Handler handler)
{
    auto d = std::make_shared<Private>(io, std::move(options), std::move(handler));
    if (d->options->tls) {
        auto tls = TlsAcceptor::make(*d->options->tls);
        if (!tls)
            return tl::unexpected(tls.error());
        d->tls = std::move(*tls);
    }
    const Status listening = d->options->unixPath.empty() ? d->listenTcp() : d->listenUnix();
    if (!listening)
        return tl::unexpected(listening.error());
    d->accept();
    return std::unique_ptr<HttpListener>(new HttpListener(std::move(d)));
}

unsigned short HttpListener::port() const
{
    boost::system::error_code ignored;
    return d->tcp.local_endpoint(ignored).port();
}

std::size_t HttpListener::connectionCount() const
{
    return d->sessions.size();
}

void HttpListener::close()
{
    d->close();
}

} // namespace cluster
