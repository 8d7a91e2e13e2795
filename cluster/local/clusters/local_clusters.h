#pragma once

#include "cluster/local/clusters/local_cluster.h"

namespace cluster::local {

/// All clusters of the local target, each in a folder of its own named by its id.
class LocalClusters : public ClusterHost
{
public:
    LocalClusters(LocalClusterSurroundings surroundings, std::filesystem::path folder);
    ~LocalClusters() override; ///< stop()

    /// Reads the folders and brings the clusters back, on threads of its own.
    void resume();
    /// Stops all clusters; blocks. They come back with the next resume().
    void stop();
    [[nodiscard]] std::vector<LocalClusterState> states() const;

    Result<ClusterEndpoint> createCluster(const ClusterSpec &spec, const StageHandler &onStage,
                                          const CancelToken &cancel) override;
    Status updateCluster(const ClusterSpec &spec, const StageHandler &onStage,
                         const CancelToken &cancel) override;
    Status deleteCluster(const std::string &clusterId, const StageHandler &onStage,
                         const CancelToken &cancel) override;
    Status createPool(const std::string &clusterId, const PoolSpec &pool, const StageHandler &onStage,
                      const CancelToken &cancel) override;
    Status updatePool(const std::string &clusterId, const PoolSpec &pool, const StageHandler &onStage,
                      const CancelToken &cancel) override;
    Status deletePool(const std::string &clusterId, const std::string &pool, const StageHandler &onStage,
                      const CancelToken &cancel) override;
    Result<ClusterEndpoint> endpoint(const std::string &clusterId) override;
    Result<std::vector<PoolState>> pools(const std::string &clusterId) override;
    Status apply(const std::string &clusterId, const HostFault &fault) override;

private:
    struct Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
