#include "cluster/local/runtimes/ray/ray_worker.h"

#include "cluster/local/runtimes/ray/line_connection.h"
#include "cluster/local/runtimes/ray/worker_codec.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <utility>

namespace cluster::local {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds retryWait{500};

} // namespace

class RayWorker::Private : public std::enable_shared_from_this<Private>
{
public:
    Private(asio::io_context &io_, RayStartOptions options_, std::function<void(std::string)> onEnd_)
        : io(io_), options(std::move(options_)), onEnd(std::move(onEnd_)), server(io_, options, handlers()),
          resolver(io_), retry(io_), beat(io_)
    {
    }

    Status open();
    void connect();
    void onConnected(asio::ip::tcp::socket socket);
    void onLine(std::string_view line);
    void handle(const HeadWelcome &welcome);
    void handle(const HeadRefusal &refusal) { end("the head refused this worker: " + refusal.why); }
    void handle(const HeadStart &start) { server.replicas().start(start.spec); }
    void handle(const HeadStop &stop) { server.replicas().stop(stop.replica); }
    void handle(const HeadPeers &peers) { server.replicas().setPeers(peers.replica, peers.targets); }
    void handle(const HeadProxy &proxy) { server.setProxy(proxy.plan); }
    void handle(const HeadAlive &) {}
    void onLost();
    void connectLater();
    void sendBeat();
    void end(const std::string &why);
    void send(std::string line)
    {
        if (connection && isJoined)
            connection->send(std::move(line));
    }
    RayNodeServer::Handlers handlers();

    asio::io_context &io;
    RayStartOptions options;
    std::function<void(std::string)> onEnd;
    RayNodeServer server;
    asio::ip::tcp::resolver resolver;
    asio::steady_timer retry, beat;
    std::shared_ptr<LineConnection> connection;
    bool isJoined = false, isLeaving = false;
    std::string nodeId, session;
    RayClock::time_point lastContact; ///< with its head
};

RayNodeServer::Handlers RayWorker::Private::handlers()
{
    RayNodeServer::Handlers made;
    made.replicas.onReady = [this](const ServeReplicaReady &ready) { send(replicaReadyLine(ready)); };
    made.replicas.onFailed = [this](const std::string &replica, const std::string &error) {
        std::fprintf(stderr, "slipway-ray: replica %s: %s\n", replica.c_str(), error.c_str());
        send(replicaFailedLine(replica, error));
    };
    made.onProxyReady = [this] { send(proxyReadyLine()); };
    made.isConnected = [this] { return isJoined; };
    made.addMetrics = [](MetricsInput &) {};
    return made;
}

Status RayWorker::Private::open()
{
    if (auto opened = server.open(); !opened)
        return opened;
    options.node.agentPort = server.agentPort();
    options.node.metricsPort = server.metricsPort();
    lastContact = RayClock::now();
    connect();
    return {};
}

/// Names are looked up anew each time: the head's Service has its address only once it runs.
void RayWorker::Private::connect()
{
    const auto self = shared_from_this();
    resolver.async_resolve(options.headHost, std::to_string(options.headPort),
                           [self](error_code error, const asio::ip::tcp::resolver::results_type &found) {
                               if (self->isLeaving)
                                   return;
                               if (error) {
                                   self->connectLater();
                                   return;
                               }
                               const auto socket = std::make_shared<asio::ip::tcp::socket>(self->io);
                               asio::async_connect(
                                   *socket, found,
                                   [self, socket](error_code failure, const asio::ip::tcp::endpoint &) {
                                       if (self->isLeaving)
                                           return;
                                       failure ? self->connectLater() : self->onConnected(std::move(*socket));
                                   });
                           });
}

void RayWorker::Private::onConnected(asio::ip::tcp::socket socket)
{
    connection = std::make_shared<LineConnection>(std::move(socket));
    connection->start({[weak = weak_from_this()](std::string_view line) {
                           if (const auto self = weak.lock())
                               self->onLine(line);
                       },
                       [weak = weak_from_this()] {
                           if (const auto self = weak.lock())
                               self->onLost();
                       }});
    connection->send(helloLine(options.node));
}

void RayWorker::Private::onLine(std::string_view line)
{
    const auto message = readHeadMessage(line);
    if (!message) {
        std::fprintf(stderr, "slipway-ray: %s\n", message.error().message.c_str());
        return;
    }
    lastContact = RayClock::now();
    std::visit([this](const auto &one) { handle(one); }, *message);
}

void RayWorker::Private::handle(const HeadWelcome &welcome)
{
    if (!session.empty() && session != welcome.session) {
        end("the head is a new one: this worker's cluster is gone");
        return;
    }
    // A head that had given this worker up knows nothing of what runs here.
    server.replicas().stopAll();
    server.setProxy({});
    session = welcome.session;
    nodeId = welcome.nodeId;
    isJoined = true;
    server.setIdentity(nodeId, session);
    std::printf("joined the Ray cluster at %s:%d as node %s\n", options.headHost.c_str(), options.headPort,
                nodeId.c_str());
    std::fflush(stdout);
    sendBeat();
}

void RayWorker::Private::onLost()
{
    isJoined = false;
    connection.reset();
    beat.cancel();
    if (!isLeaving)
        connectLater();
}

void RayWorker::Private::connectLater()
{
    const auto silence = std::chrono::duration_cast<std::chrono::seconds>(RayClock::now() - lastContact);
    if (silence >= options.timings.reconnect) {
        end("the head at " + options.headHost + ":" + std::to_string(options.headPort)
            + " has not been reached for " + std::to_string(silence.count()) + " s");
        return;
    }
    retry.expires_after(retryWait);
    retry.async_wait([weak = weak_from_this()](error_code error) {
        const auto self = weak.lock();
        if (!error && self && !self->isLeaving)
            self->connect();
    });
}

void RayWorker::Private::sendBeat()
{
    send(beatLine(server.readStats(), server.replicas().traffic()));
    beat.expires_after(options.timings.beat);
    beat.async_wait([weak = weak_from_this()](error_code error) {
        const auto self = weak.lock();
        if (!error && self && self->isJoined)
            self->sendBeat();
    });
}

void RayWorker::Private::end(const std::string &why)
{
    isLeaving = true;
    isJoined = false;
    if (connection)
        connection->close();
    if (const auto told = std::exchange(onEnd, nullptr))
        told(why);
}

RayWorker::RayWorker(asio::io_context &io, RayStartOptions options, std::function<void(std::string)> onEnd)
    : d(std::make_shared<Private>(io, std::move(options), std::move(onEnd)))
{
}

RayWorker::~RayWorker()
{
    d->isLeaving = true;
    d->isJoined = false;
    d->retry.cancel();
    d->beat.cancel();
    d->resolver.cancel();
    if (d->connection)
        d->connection->close();
}

Status RayWorker::start()
{
    return d->open();
}

void RayWorker::leave(std::function<void()> done)
{
    d->send(byeLine());
    d->isLeaving = true;
    if (d->connection)
        d->connection->closeWhenSent();
    // Long enough for the word to be on its way, and for a head to be asked no more.
    d->retry.expires_after(std::chrono::milliseconds(100));
    d->retry.async_wait([done = std::move(done)](error_code) { done(); });
}

bool RayWorker::isJoined() const
{
    return d->isJoined;
}

std::string RayWorker::nodeId() const
{
    return d->nodeId;
}

unsigned short RayWorker::proxyPort() const
{
    return d->server.proxyPort();
}

} // namespace cluster::local
