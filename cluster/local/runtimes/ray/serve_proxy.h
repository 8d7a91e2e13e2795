#pragma once

#include "cluster/httpd/http_listener.h"
#include "cluster/local/runtimes/ray/proxy_counts.h"
#include "cluster/local/runtimes/ray/ray_values.h"
#include "cluster/local/runtimes/ray/target_pool.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace cluster::local {

/// Serve's proxy of one node, on the node's address: /-/healthz, /-/routes, and each application below its
/// prefix. A request for which no replica is ready waits for one. One thread, the io_context's.
class ServeHttpProxy
{
public:
    /// \param onReady  it listens
    ServeHttpProxy(boost::asio::io_context &io, std::string address, std::function<void()> onReady);
    ~ServeHttpProxy();
    ServeHttpProxy(const ServeHttpProxy &) = delete;
    ServeHttpProxy &operator=(const ServeHttpProxy &) = delete;

    /// Opens, changes or closes it. Errors (the port is taken) are tried again with the next plan.
    Status apply(ServeProxyPlan plan);
    [[nodiscard]] unsigned short port() const; ///< 0: it is off
    [[nodiscard]] const ProxyCounts &counts() const { return *m_counts; }

    /// For tests and for the listener.
    void handle(const std::shared_ptr<ServerExchange> &exchange);

private:
    void forward(const std::shared_ptr<ServerExchange> &exchange, const ServeRoute &route,
                 const std::string &requestId);
    [[nodiscard]] const ServeRoute *routeOf(const std::string &path) const;

    boost::asio::io_context &m_io;
    std::string m_address;
    std::function<void()> m_onReady;
    ServeProxyPlan m_plan;
    std::map<std::string, std::shared_ptr<TargetPool>> m_pools; ///< by application
    std::shared_ptr<ProxyCounts> m_counts = std::make_shared<ProxyCounts>();
    std::unique_ptr<HttpListener> m_listener;
};

} // namespace cluster::local
