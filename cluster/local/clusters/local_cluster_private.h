#pragma once

#include "cluster/local/clusters/cluster_keeper.h"
#include "cluster/local/clusters/cluster_parts.h"
#include "cluster/local/clusters/local_cluster.h"
#include "cluster/local/network/api_front.h"

#include <mutex>

namespace cluster::local {

/// For a start whose stages nobody follows.
inline void nobodyAsks(std::string_view /*stage*/, double /*done*/) {}

struct LocalCluster::Private
{
    using Clock = std::chrono::steady_clock;

    Private(const LocalClusterSurroundings &s, std::filesystem::path dir, KeptCluster r)
        : surroundings(s), folder(std::move(dir)), name(r.spec.name), record(std::move(r))
    {
    }

    std::unique_ptr<ClusterKeeper> makeKeeper();

    Status start(const StageHandler &onStage, const CancelToken &cancel);
    void stopRunning(const std::string &nextState); ///< lifecycle is held
    void sleepIfIdle(const CancelToken &cancel);
    void startRay(const CancelToken &cancel);
    Status openFront();
    Status keep(KeptCluster changed);
    void setState(std::string state, std::string text = {});
    [[nodiscard]] std::shared_ptr<ClusterParts> runningParts() const;

    const LocalClusterSurroundings &surroundings;
    const std::filesystem::path folder;
    const std::string name; ///< of the cluster, for the log

    std::mutex lifecycle; ///< one start or stop at a time; who comes meanwhile waits for its end
    std::unique_ptr<ApiFront> front; ///< lives on the io_context; made and ended under `lifecycle`
    bool isRetired = false; ///< likewise: nothing starts any more
    mutable std::mutex mutex; ///< guards what follows; never held during a call
    KeptCluster record;
    std::string stateName = "stopped";
    std::string message;
    std::string address;
    std::string caPem;
    std::shared_ptr<ControlPlane> controlPlane;
    std::shared_ptr<ClusterParts> parts;
    int calls = 0; ///< of Google's side, under way
    Clock::time_point lastUse; ///< by such a call, or a pod
    const std::unique_ptr<ClusterKeeper> keeper = makeKeeper(); ///< last: its thread uses the others

private:
    [[nodiscard]] ControlPlaneOptions controlPlaneOptions(const AddressPlan &plan,
                                                          std::filesystem::path programs) const;
    Status run(const StageHandler &onStage, const CancelToken &cancel);
    Status connect(ClusterParts &around, const ControlPlaneEndpoint &endpoint);
    void showControlPlane(std::shared_ptr<ControlPlane> plane);
    [[nodiscard]] bool isUsed(Clock::time_point now);
};

/// While one of these lives the cluster does not fall asleep.
class ClusterCall
{
public:
    explicit ClusterCall(LocalCluster::Private &cluster);
    ~ClusterCall();
    ClusterCall(const ClusterCall &) = delete;
    ClusterCall &operator=(const ClusterCall &) = delete;

private:
    LocalCluster::Private &m_cluster;
};

} // namespace cluster::local
