#pragma once

#include "cluster/httpd/server_exchange.h"
#include "cluster/local/runtimes/ray/node_table.h"
#include "cluster/local/runtimes/ray/ray_jobs.h"
#include "cluster/local/runtimes/ray/serve_controller.h"

#include <functional>
#include <memory>
#include <string>

namespace cluster::local {

struct DashboardFacts
{
    std::string rayVersion, session; ///< "session_2026-11-30_13-56-14_651310_10974"
    std::function<RayClock::time_point()> now = RayClock::now;
};

/// The head's REST API on port 8265 (contracts: observed-ray). Pages of what this stand-in does not have are
/// there and empty. One thread, the io_context's; nothing blocks, so that answers come within KubeRay's two
/// seconds.
class RayDashboard
{
public:
    RayDashboard(DashboardFacts facts, const NodeTable &nodes, ServeController &serve, RayJobs &jobs);

    void handle(const std::shared_ptr<ServerExchange> &exchange);

private:
    [[nodiscard]] ServerResponse answer(const ServerRequest &request);
    [[nodiscard]] ServerResponse nodePage(const ServerRequest &request) const;
    [[nodiscard]] ServerResponse clusterStatusPage(const ServerRequest &request) const;
    [[nodiscard]] ServerResponse jobPage(const ServerRequest &request);
    [[nodiscard]] ServerResponse eventPage() const;
    [[nodiscard]] ServerResponse serveDetailsPage(const ServerRequest &request) const;
    [[nodiscard]] ServerResponse applyServeConfig(const ServerRequest &request);
    [[nodiscard]] RayResources used(const std::string &node) const;

    DashboardFacts m_facts;
    const NodeTable &m_nodes;
    ServeController &m_serve;
    RayJobs &m_jobs;
};

} // namespace cluster::local
