#include "cluster/local/runtimes/ray/ray_head.h"

#include "cluster/local/runtimes/ray/join_server.h"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace cluster::local {

namespace asio = boost::asio;

namespace {

/// "session_2026-11-30_13-56-14_651310_10974"
std::string newSession()
{
    const auto milliseconds = millisecondsSinceEpoch();
    const std::time_t seconds = milliseconds / 1000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 64> text{};
    std::strftime(text.data(), text.size(), "session_%Y-%m-%d_%H-%M-%S_", &parts);
    return text.data() + std::to_string(milliseconds % 1000 * 1000) + "_" + std::to_string(::getpid());
}

template<typename... Cases>
struct Overloaded : Cases...
{
    using Cases::operator()...;
};
template<typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

} // namespace

class RayHead::Private : public ServeNodes, public std::enable_shared_from_this<Private>
{
public:
    Private(asio::io_context &io_, RayStartOptions options_)
        : io(io_), options(std::move(options_)), session(newSession()), nodes(options.timings),
          serve(*this, options.variable, options.timings), server(io_, options, nodeHandlers()),
          joins(io_, session, joinHandlers()), timer(io_)
    {
    }

    Status open();
    void step();

    // ServeNodes
    [[nodiscard]] std::vector<ServeNode> alive() const override;
    void startReplica(const std::string &node, const ServeReplicaSpec &spec) override;
    void stopReplica(const std::string &node, const std::string &replica) override;
    void setPeers(const std::string &node, const std::string &replica,
                  const std::vector<ServeTarget> &targets) override;
    void setProxy(const std::string &node, const ServeProxyPlan &plan) override;

    RayNodeServer::Handlers nodeHandlers();
    JoinHandlers joinHandlers();
    void onMessage(const std::string &node, const WorkerMessage &message);
    [[nodiscard]] bool isMine(const std::string &node) const { return node == id; }

    asio::io_context &io;
    RayStartOptions options;
    std::string session, id;
    NodeTable nodes;
    ServeController serve;
    RayNodeServer server;
    JoinServer joins;
    std::unique_ptr<RayJobs> jobs;
    std::unique_ptr<RayDashboard> dashboard;
    std::unique_ptr<HttpListener> dashboardListener;
    asio::steady_timer timer;
    RayClock::time_point lastBeat{};
};

RayNodeServer::Handlers RayHead::Private::nodeHandlers()
{
    RayNodeServer::Handlers handlers;
    handlers.replicas.onReady
        = [this](const ServeReplicaReady &ready) { serve.onReplicaReady(ready, RayClock::now()); };
    handlers.replicas.onFailed = [this](const std::string &replica, const std::string &error) {
        std::fprintf(stderr, "slipway-ray: replica %s: %s\n", replica.c_str(), error.c_str());
        serve.onReplicaFailed(replica, error, RayClock::now());
    };
    handlers.onProxyReady = [this] { serve.onProxyReady(id, RayClock::now()); };
    handlers.isConnected = [] { return true; };
    handlers.addMetrics = [this](MetricsInput &input) {
        input.nodes = &nodes;
        input.serve = &serve.state();
        input.used = serve.usedOn(id);
    };
    return handlers;
}

JoinHandlers RayHead::Private::joinHandlers()
{
    JoinHandlers handlers;
    handlers.onJoin = [this](RayNodeFacts facts) {
        std::printf("worker %s (%s) joined\n", facts.ip.c_str(), facts.name.c_str());
        std::fflush(stdout);
        return nodes.add(std::move(facts), false, RayClock::now());
    };
    handlers.onMessage
        = [this](const std::string &node, const WorkerMessage &message) { onMessage(node, message); };
    handlers.onLost = [this](const std::string &node) { nodes.onConnectionLost(node, RayClock::now()); };
    return handlers;
}

void RayHead::Private::onMessage(const std::string &node, const WorkerMessage &message)
{
    const RayNode *known = nodes.find(node);
    if (known == nullptr || !known->isAlive())
        return;
    const auto now = RayClock::now();
    std::visit(Overloaded{[](const WorkerHello &) {},
                          [&](const WorkerBeat &beat) {
                              nodes.onSign(node, beat.stats, now);
                              serve.onTraffic(node, beat.traffic);
                          },
                          [&](const ServeReplicaReady &ready) { serve.onReplicaReady(ready, now); },
                          [&](const WorkerReplicaFailed &failed) {
                              serve.onReplicaFailed(failed.replica, failed.error, now);
                          },
                          [&](const WorkerProxyReady &) { serve.onProxyReady(node, now); },
                          [&](const WorkerBye &) { nodes.onBye(node); }},
               message);
}

std::vector<ServeNode> RayHead::Private::alive() const
{
    std::vector<ServeNode> list;
    for (const RayNode &node : nodes.all()) {
        if (node.isAlive() && !node.isUnreachable)
            list.push_back({node.id, node.facts.ip, node.facts.name, node.isHead, node.facts.resources});
    }
    return list;
}

void RayHead::Private::startReplica(const std::string &node, const ServeReplicaSpec &spec)
{
    std::printf("starting replica %s of %s/%s\n", spec.id.c_str(), spec.app.c_str(), spec.deployment.c_str());
    std::fflush(stdout);
    if (isMine(node))
        server.replicas().start(spec);
    else
        joins.send(node, startReplicaLine(spec));
}

void RayHead::Private::stopReplica(const std::string &node, const std::string &replica)
{
    if (isMine(node))
        server.replicas().stop(replica);
    else
        joins.send(node, stopReplicaLine(replica));
}

void RayHead::Private::setPeers(const std::string &node, const std::string &replica,
                                const std::vector<ServeTarget> &targets)
{
    if (isMine(node))
        server.replicas().setPeers(replica, targets);
    else
        joins.send(node, peersLine(replica, targets));
}

void RayHead::Private::setProxy(const std::string &node, const ServeProxyPlan &plan)
{
    if (!isMine(node)) {
        joins.send(node, proxyLine(plan));
        return;
    }
    // Its listener tells that it is ready, which the controller must not hear in the middle of a step.
    asio::post(io, [weak = weak_from_this(), plan] {
        if (const auto self = weak.lock())
            self->server.setProxy(plan);
    });
}

Status RayHead::Private::open()
{
    if (auto opened = server.open(); !opened)
        return opened;
    options.node.agentPort = server.agentPort();
    options.node.metricsPort = server.metricsPort();
    id = nodes.add(options.node, true, RayClock::now());
    server.setIdentity(id, session);
    if (auto listening = joins.listen(options.node.ip, options.headPort); !listening)
        return listening;
    RayJobPlace place{options.allowsJobs, id, options.node.ip, options.node.agentPort, ownEnvironment()};
    place.environment.push_back("RAY_ADDRESS=" + options.node.ip + ":" + std::to_string(joins.port()));
    jobs = std::make_unique<RayJobs>(io, std::move(place));
    dashboard
        = std::make_unique<RayDashboard>(DashboardFacts{options.rayVersion, session}, nodes, serve, *jobs);
    auto listener = openRayListener(io, options.node.ip, options.dashboardPort, "the dashboard",
                                    [this](const auto &exchange) { dashboard->handle(exchange); });
    if (!listener)
        return tl::unexpected(listener.error());
    dashboardListener = std::move(*listener);
    step();
    return {};
}

/// Serve's control loop, and the watch over the nodes.
void RayHead::Private::step()
{
    const auto now = RayClock::now();
    if (now - lastBeat >= options.timings.beat) {
        lastBeat = now;
        nodes.onSign(id, server.readStats(), now);
        serve.onTraffic(id, server.replicas().traffic());
        joins.sendToAll(aliveLine());
    }
    const NodeChanges changes = nodes.step(now);
    for (const std::string &node : changes.unreachable)
        serve.onNodeLost(node, now);
    for (const std::string &node : changes.dead) {
        std::printf("node %s is dead: %s\n", node.c_str(), nodes.find(node)->stateMessage().c_str());
        std::fflush(stdout);
        joins.drop(node);
    }
    serve.step(now);
    timer.expires_after(options.timings.controlLoop);
    timer.async_wait([weak = weak_from_this()](boost::system::error_code error) {
        const auto self = weak.lock();
        if (!error && self)
            self->step();
    });
}

RayHead::RayHead(asio::io_context &io, RayStartOptions options)
    : d(std::make_shared<Private>(io, std::move(options)))
{
}

RayHead::~RayHead() = default;

Status RayHead::start()
{
    return d->open();
}

RayHeadPorts RayHead::ports() const
{
    return {d->joins.port(),
            d->dashboardListener ? d->dashboardListener->port() : static_cast<unsigned short>(0),
            d->server.agentPort(), d->server.metricsPort(), d->server.proxyPort()};
}

const NodeTable &RayHead::nodes() const
{
    return d->nodes;
}

const ServeState &RayHead::serve() const
{
    return d->serve.state();
}

} // namespace cluster::local
