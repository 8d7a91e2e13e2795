#pragma once

#include "cluster/local/clusters/kept_cluster.h"
#include "cluster/local/controlplane/control_plane.h"
#include "cluster/local/nodes/pool_scaler.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

class BucketObjects;
class ManagedPrometheus;
class PodIdentities;

/// What all clusters of the local target share.
struct LocalClusterSurroundings
{
    explicit LocalClusterSurroundings(boost::asio::io_context &context) : io(context) {}

    boost::asio::io_context &io;
    /// Folder of the real programs, or what is missing and how to get it. Asked at each start: they may be
    /// built meanwhile.
    std::function<Result<std::filesystem::path>()> controlPlanePrograms;
    std::filesystem::path programs; ///< folder of our own: slipway-engine, the containers' init
    std::filesystem::path imagesFile; ///< resources/catalog/images.yaml
    std::filesystem::path models; ///< GGUF files for the stand-ins
    /// What pods see of Cloud Storage through GCS FUSE; empty: nothing.
    std::function<BucketObjects &()> bucketObjects;
    /// Who pods are for Google; empty: they have no metadata server.
    std::function<PodIdentities &()> podIdentities;
    /// What pods are told of Google's services on this machine, as variables.
    std::function<std::vector<std::pair<std::string, std::string>>()> googleVariables;
    /// How the autoscaler of a cluster (ClusterSpec::id) changes the pools that it has; must be set.
    std::function<std::unique_ptr<PoolScaler>(const std::string &clusterId,
                                              std::function<std::vector<PoolSpec>()> pools,
                                              const CancelToken &cancel)>
        scaler;
    ManagedPrometheus *metrics = nullptr; ///< collects the clusters' metrics; nullptr: nobody does
    std::string userToken; ///< whoever shows it is cluster-admin
    bool allowsProcesses = false;
    std::filesystem::path podman; ///< empty: images are not run in it
    std::chrono::milliseconds stopIdle{0}; ///< after so long without use a cluster falls asleep; zero: never
    double timeFactor = 1; ///< Google's durations are divided by this
    /// A line for the log: which cluster, what happened.
    std::function<void(const std::string &cluster, const std::string &text)> log;
};

/// How it stands with a cluster, for `slipwayctl local status`.
struct LocalClusterState
{
    ClusterSpec spec;
    std::string
        state; ///< "starting", "running", "falling asleep", "asleep", "stopped", "failed", "unreadable"
    std::string message; ///< why it failed
    std::string endpoint; ///< 127.0.0.1:PORT, the same while it sleeps
    std::size_t nodes = 0;
    std::size_t pods = 0;
    std::vector<ProcessState> processes;
};

/// One cluster: a real control plane, and around it our parts, which are its clients: nodes, their agent, the
/// kubelets' API, the way in and the services. Clients come through a port of ours (ApiFront), which is there
/// while the rest sleeps: a client, or a call that changes something, wakes it. Calls block and come one at a
/// time, except state() and endpoint().
class LocalCluster
{
public:
    LocalCluster(const LocalClusterSurroundings &surroundings, std::filesystem::path folder,
                 KeptCluster record);
    ~LocalCluster(); ///< stop()
    LocalCluster(const LocalCluster &) = delete;
    LocalCluster &operator=(const LocalCluster &) = delete;

    /// Brings up what the record says; nothing to do if it runs. After an error nothing of it runs.
    Status start(const StageHandler &onStage, const CancelToken &cancel);
    /// After the local target itself was stopped: as it was, so one that slept goes on sleeping.
    Status restore(const CancelToken &cancel);
    void stop(); ///< for good

    Status update(const ClusterSpec &spec);
    /// With a record of it written first: a pool that was asked for comes back after a crash.
    Status createPool(const PoolSpec &pool, const CancelToken &cancel);
    Status updatePool(const PoolSpec &pool, const CancelToken &cancel);
    Status deletePool(const std::string &pool, const CancelToken &cancel);
    Status apply(const HostFault &fault);

    [[nodiscard]] Result<ClusterEndpoint> endpoint() const;
    [[nodiscard]] std::vector<PoolState> pools() const;
    [[nodiscard]] LocalClusterState state() const;

private:
    friend class ClusterCall;
    struct Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
