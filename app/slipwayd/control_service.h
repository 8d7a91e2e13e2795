#pragma once

#include "cluster/httpd/server_exchange.h"
#include "cluster/local/clusters/local_clusters.h"
#include "cluster/local/metrics/managed_prometheus.h"

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace slipwayd {

/// The daemon's own part of the wire, /slipway/v1: status and stop. Faults are Google's side's.
class ControlService
{
public:
    /// What it was started with, for `slipwayctl local status` and a second start.
    struct Settings
    {
        double speed = 1;
        bool allowsProcesses = false;
        std::chrono::seconds stopIdle{0};
    };

    struct Facts
    {
        std::string token; ///< what clients must send as Bearer
        std::function<std::string()> missing; ///< what the user lacks for clusters now; empty: nothing
        Settings settings;
        std::function<void()> stop; ///< called once, on the listener's thread
    };

    /// `clusters` and `metrics` outlive it.
    ControlService(Facts facts, const cluster::local::LocalClusters &clusters,
                   const cluster::local::ManagedPrometheus &metrics);
    ~ControlService(); ///< waits for answers that are being made

    [[nodiscard]] bool takes(const cluster::ServerRequest &request) const;
    void handle(const std::shared_ptr<cluster::ServerExchange> &exchange);

private:
    void answerStatus(const std::shared_ptr<cluster::ServerExchange> &exchange) const;

    Facts m_facts;
    const cluster::local::LocalClusters &m_clusters;
    const cluster::local::ManagedPrometheus &m_metrics;
    boost::asio::thread_pool m_threads{1}; ///< asks clusters, which ask the listener's thread
};

} // namespace slipwayd
