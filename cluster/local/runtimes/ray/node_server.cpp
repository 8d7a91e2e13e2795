#include "cluster/local/runtimes/ray/node_server.h"

#include "cluster/local/runtimes/ray/http_call.h"
#include "cluster/local/runtimes/ray/ray_answers.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <unistd.h>

namespace cluster::local {

namespace {

constexpr std::size_t mostOfAnEngine = std::size_t{4} << 20; ///< bytes of its metrics page

/// Gathers the pages of a node's engines, and answers with all when the last has come.
struct GatheredMetrics
{
    std::shared_ptr<ServerExchange> exchange;
    std::string page;

    GatheredMetrics(std::shared_ptr<ServerExchange> exchange_, std::string page_)
        : exchange(std::move(exchange_)), page(std::move(page_))
    {
    }
    ~GatheredMetrics()
    {
        exchange->reply(
            {200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, std::move(page)});
    }
    GatheredMetrics(const GatheredMetrics &) = delete;
    GatheredMetrics &operator=(const GatheredMetrics &) = delete;
};

} // namespace

std::vector<std::string> ownEnvironment()
{
    std::vector<std::string> variables;
    for (char **variable = environ; *variable != nullptr; ++variable)
        variables.emplace_back(*variable);
    return variables;
}

Result<std::unique_ptr<HttpListener>> openRayListener(boost::asio::io_context &io, const std::string &address,
                                                      unsigned short port, const std::string &what,
                                                      HttpListener::Handler handler)
{
    ListenerOptions options;
    options.address = address;
    options.port = port;
    options.serverName = "slipway-ray";
    auto listener = HttpListener::open(io, std::move(options), std::move(handler));
    if (!listener)
        return fail(listener.error().code, "ray start: " + what + ": " + listener.error().message);
    return listener;
}

RayNodeServer::RayNodeServer(boost::asio::io_context &io, const RayStartOptions &options, Handlers handlers)
    : m_io(io), m_options(options), m_handlers(std::move(handlers)),
      m_replicas(io, options.node.ip, {options.engineProgram, options.model, ownEnvironment()},
                 m_handlers.replicas),
      m_proxy(io, options.node.ip, m_handlers.onProxyReady)
{
}

RayNodeServer::~RayNodeServer() = default;

Status RayNodeServer::open()
{
    const RayNodeFacts &node = m_options.node;
    auto agent
        = openRayListener(m_io, node.ip, static_cast<unsigned short>(node.agentPort), "the dashboard agent",
                          [this](const auto &exchange) { answerAgent(exchange); });
    if (!agent)
        return tl::unexpected(agent.error());
    m_agent = std::move(*agent);
    auto metrics
        = openRayListener(m_io, node.ip, static_cast<unsigned short>(node.metricsPort), "the metrics page",
                          [this](const auto &exchange) { answerMetrics(exchange); });
    if (!metrics)
        return tl::unexpected(metrics.error());
    m_metrics = std::move(*metrics);
    return {};
}

void RayNodeServer::setIdentity(const std::string &nodeId, const std::string &session)
{
    m_nodeId = nodeId;
    m_session = session;
}

void RayNodeServer::setProxy(const ServeProxyPlan &plan)
{
    if (const Status applied = m_proxy.apply(plan); !applied) // tried again with the next plan
        std::fprintf(stderr, "slipway-ray: Serve's proxy: %s\n", applied.error().message.c_str());
}

void RayNodeServer::answerAgent(const std::shared_ptr<ServerExchange> &exchange) const
{
    const ServerRequest &request = exchange->request();
    const bool isRead = request.method == "GET" || request.method == "HEAD";
    const bool isConnected = m_handlers.isConnected();
    if (isRead && request.path == "/api/local_raylet_healthz")
        exchange->reply(rayHealth("success"));
    else if (isRead && request.path == "/api/healthz")
        exchange->reply(isConnected ? rayHealth("raylet: success\ngcs: success")
                                    : rayText(503, "raylet: success\ngcs: failed to reach the head"));
    else
        exchange->reply(rayNotFound());
}

void RayNodeServer::answerMetrics(const std::shared_ptr<ServerExchange> &exchange)
{
    const ServerRequest &request = exchange->request();
    if (request.path != "/metrics" && request.path != "/") {
        exchange->reply(rayNotFound());
        return;
    }
    MetricsInput input;
    input.nodeId = m_nodeId;
    input.rayVersion = m_options.rayVersion;
    input.session = m_session;
    input.isHead = m_options.isHead;
    input.facts = &m_options.node;
    input.stats = m_stats.read();
    input.proxy = m_proxy.port() != 0 ? &m_proxy.counts() : nullptr;
    input.hosted = m_replicas.hosted();
    input.traffic = m_replicas.traffic();
    m_handlers.addMetrics(input);
    const auto gathered = std::make_shared<GatheredMetrics>(exchange, metricsPage(input));
    for (const auto &hosted : input.hosted) {
        if (hosted.spec.role != ServeRole::LlmServer || hosted.port == 0)
            continue;
        const auto page = std::make_shared<std::string>();
        HttpCall::start(m_io, {m_options.node.ip, hosted.port, "GET", "/metrics", {}, {}},
                        {{},
                         [page](std::string_view piece) {
                             page->append(
                                 piece.substr(0, mostOfAnEngine - std::min(mostOfAnEngine, page->size())));
                             return true;
                         },
                         [gathered, page, id = hosted.spec.id](const std::string &error) {
                             if (error.empty())
                                 gathered->page += engineMetrics(*page, id);
                         }});
    }
}

} // namespace cluster::local
