#pragma once

#include "cluster/httpd/http_listener.h"
#include "cluster/local/runtimes/ray/machine_stats.h"
#include "cluster/local/runtimes/ray/metrics_page.h"
#include "cluster/local/runtimes/ray/serve_proxy.h"
#include "cluster/local/runtimes/ray/start_options.h"

#include <functional>
#include <memory>
#include <string>

namespace cluster::local {

/// What each node of a cluster runs, head and worker alike: its agent's health page (port 52365), its metrics
/// page (8080), its Serve proxy and its replicas. One thread, the io_context's.
class RayNodeServer
{
public:
    struct Handlers
    {
        ReplicaHostHandlers replicas;
        std::function<void()> onProxyReady;
        std::function<bool()> isConnected; ///< to its head
        std::function<void(MetricsInput &)> addMetrics; ///< what only the head knows
    };

    RayNodeServer(boost::asio::io_context &io, const RayStartOptions &options, Handlers handlers);
    ~RayNodeServer();
    RayNodeServer(const RayNodeServer &) = delete;
    RayNodeServer &operator=(const RayNodeServer &) = delete;

    /// Errors: AlreadyExists (a port is taken), which names it.
    Status open();
    void setIdentity(const std::string &nodeId, const std::string &session);
    ReplicaHost &replicas() { return m_replicas; }
    void setProxy(const ServeProxyPlan &plan);
    RayNodeStats readStats() { return m_stats.read(); }
    /// As opened: of help where the options say 0, any port.
    [[nodiscard]] unsigned short agentPort() const { return m_agent ? m_agent->port() : 0; }
    [[nodiscard]] unsigned short metricsPort() const { return m_metrics ? m_metrics->port() : 0; }
    [[nodiscard]] unsigned short proxyPort() const { return m_proxy.port(); }

private:
    void answerAgent(const std::shared_ptr<ServerExchange> &exchange) const;
    void answerMetrics(const std::shared_ptr<ServerExchange> &exchange);

    boost::asio::io_context &m_io;
    const RayStartOptions &m_options;
    Handlers m_handlers;
    std::string m_nodeId, m_session;
    MachineStats m_stats;
    ReplicaHost m_replicas;
    ServeHttpProxy m_proxy;
    std::unique_ptr<HttpListener> m_agent, m_metrics;
};

/// "NAME=value" of this process, for what its replicas and jobs run.
std::vector<std::string> ownEnvironment();

/// A listener of this stand-in at `address`.
Result<std::unique_ptr<HttpListener>> openRayListener(boost::asio::io_context &io, const std::string &address,
                                                      unsigned short port, const std::string &what,
                                                      HttpListener::Handler handler);

} // namespace cluster::local
