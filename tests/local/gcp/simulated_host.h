#pragma once

#include "cluster/local/gcp/cluster_host.h"

#include <condition_variable>
#include <map>
#include <mutex>

namespace tests {

/// Clusters that are only remembered: what the container API is tested with.
class SimulatedHost : public cluster::local::ClusterHost
{
public:
    using Status = cluster::Status;
    using CancelToken = cluster::CancelToken;
    using StageHandler = cluster::local::StageHandler;
    template<typename T>
    using Result = cluster::Result<T>;

    /// Makes the next call of this name ("createPool") fail.
    void failNext(const std::string &call, cluster::Error error);
    /// Calls of this name wait from now on, until release() or a cancellation.
    void hold(const std::string &call);
    void release();
    [[nodiscard]] std::vector<std::string> calls() const; ///< "createPool v6e 4"
    [[nodiscard]] std::vector<cluster::local::HostFault> faults() const;
    [[nodiscard]] bool isWaiting() const;

    Result<cluster::local::ClusterEndpoint> createCluster(const cluster::local::ClusterSpec &spec,
                                                          const StageHandler &onStage,
                                                          const CancelToken &cancel) override;
    Status updateCluster(const cluster::local::ClusterSpec &spec, const StageHandler &onStage,
                         const CancelToken &cancel) override;
    Status deleteCluster(const std::string &id, const StageHandler &onStage,
                         const CancelToken &cancel) override;
    Status createPool(const std::string &id, const cluster::local::PoolSpec &pool,
                      const StageHandler &onStage, const CancelToken &cancel) override;
    Status updatePool(const std::string &id, const cluster::local::PoolSpec &pool,
                      const StageHandler &onStage, const CancelToken &cancel) override;
    Status deletePool(const std::string &id, const std::string &pool, const StageHandler &onStage,
                      const CancelToken &cancel) override;
    Result<cluster::local::ClusterEndpoint> endpoint(const std::string &id) override;
    Result<std::vector<cluster::local::PoolState>> pools(const std::string &id) override;
    Status apply(const std::string &id, const cluster::local::HostFault &fault) override;

private:
    struct Cluster
    {
        cluster::local::ClusterSpec spec;
        std::map<std::string, cluster::local::PoolSpec> pools;
    };

    Status begin(const std::string &call, const std::string &what, const CancelToken &cancel);

    mutable std::mutex m_mutex;
    std::condition_variable m_released;
    std::map<std::string, Cluster> m_clusters;
    std::map<std::string, cluster::Error> m_failures;
    std::vector<std::string> m_calls;
    std::vector<cluster::local::HostFault> m_faults;
    std::string m_held;
    bool m_waiting = false;
};

} // namespace tests
