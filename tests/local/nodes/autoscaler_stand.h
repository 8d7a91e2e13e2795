#pragma once

#include "cluster/local/nodes/autoscaler.h"
#include "cluster/local/nodes/node_pools.h"

#include "cluster/kube/kube_client.h"
#include "tests/local/support/real_plane.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tests {

/// Straight to the nodes, without Google's side.
class DirectScaler : public cluster::local::PoolScaler
{
public:
    explicit DirectScaler(cluster::local::NodePools &pools) : m_pools(pools) {}

    std::vector<cluster::local::PoolSpec> pools() const override { return m_pools.pools(); }
    cluster::Status resizePool(const std::string &pool, int nodeCount) override
    {
        return m_pools.resizePool(pool, nodeCount);
    }
    cluster::Status createPool(const cluster::local::PoolSpec &pool) override;
    cluster::Status deletePool(const std::string &pool) override { return m_pools.deletePool(pool); }

    std::atomic<bool> isOutOfStock = false; ///< of Spot machines

private:
    cluster::local::NodePools &m_pools;
};

/// An autoscaler over real node pools and a real control plane; no kubelets.
class AutoscalerStand
{
public:
    explicit AutoscalerStand(std::vector<cluster::local::PoolSpec> pools);
    ~AutoscalerStand();

    /// Empty if it can be used; else why not.
    [[nodiscard]] const std::string &missing() const { return m_plane.missing(); }
    [[nodiscard]] const std::string &failure() const { return m_failure; }

    /// With times of seconds. \param createsPools  node auto-provisioning
    void start(bool createsPools);
    void stop() { m_autoscaler.reset(); }

    [[nodiscard]] cluster::KubeClient &client() { return m_plane.client(); }
    [[nodiscard]] cluster::local::NodePools &pools() { return *m_pools; }
    [[nodiscard]] DirectScaler &scaler() { return *m_scaler; }
    /// Whether the autoscaler has logged something that holds these words.
    bool hasLogged(const std::string &words);

    /// The namespace's service account comes a moment after the controllers.
    bool make(const nlohmann::json &pod);
    void drop(const std::string &podName);
    std::string nodeOf(const std::string &podName);
    bool isScheduled(const std::string &podName) { return !nodeOf(podName).empty(); }
    std::string eventOf(const std::string &object, const std::string &reason,
                        const std::string &nameSpace = "default");

private:
    RealPlane m_plane;
    std::string m_failure;
    std::unique_ptr<cluster::local::NodePools> m_pools;
    std::unique_ptr<DirectScaler> m_scaler;
    std::mutex m_mutex; // guards m_log
    std::string m_log;
    std::unique_ptr<cluster::local::Autoscaler> m_autoscaler;
};

/// An autoscaled pool of machines in one zone, without nodes.
cluster::local::PoolSpec autoscaledPool(const std::string &name, const std::string &machineType, int most);
/// A pod that asks for so much CPU.
nlohmann::json podOf(const std::string &name, const char *cpu);

} // namespace tests
