#pragma once

#include "cluster/local/nodes/node_pools.h"
#include "cluster/local/nodes/pod_needs.h"

namespace cluster::local {

/// A machine type that can be had in the cluster's zones.
struct MachineOffer
{
    std::string name;
    MachineShape shape;
    std::string gpuAccelerator; ///< label value, "nvidia-l4"; empty: none
    int gpus = 0;
    std::string tpuAccelerator; ///< label value, "tpu-v6e-slice"; empty: none
    int tpuChips = 0;
    std::vector<std::string> zones;
};

/// What a pool that is made for pods has to be: from a pod's selectors, or a rule of a ComputeClass.
struct PoolWish
{
    std::string key; ///< the same for equal wishes: what failed is not tried again at once
    std::string machineType, machineFamily; ///< empty: any
    std::string gpuType, tpuType, tpuTopology;
    int gpuCount = 0; ///< 0: as the pod asks
    int tpuCount = 0; ///< chips per machine
    double minCores = 0, minMemoryGb = 0;
    Provisioning provisioning = Provisioning::Standard;
    std::string computeClass, reservationName, gpuDriverVersion, acceleratorNetworkProfile;
    std::vector<std::string> zones; ///< empty: all of the cluster
    std::vector<std::string> nodePools; ///< a rule that only names pools that exist
    std::map<std::string, std::string> labels;
    std::vector<NodeTaint> taints;
    std::string imageType, diskType; ///< empty: the default
    int diskGb = 0, maxPodsPerNode = 0, localSsdCount = 0; ///< 0: the default
    int rule = -1; ///< which of the class's priorities, from 0; -1: what the pod itself says
};

/// In the order in which they are to be tried. \param computeClass  null: the pod names none.
std::vector<PoolWish> wishesOf(const PodNeeds &pod, const nlohmann::json &computeClass);
/// Whether a ComputeClass lets pools be made for it.
bool canCreatePools(const nlohmann::json &computeClass);

/// Only the rules of a class, for whoever compares pools with them.
std::vector<PoolWish> rulesOf(const std::string &className, const nlohmann::json &computeClass);
/// Whether a pool that is there is one that the wish describes.
bool isSuited(const PoolWish &wish, const PoolSpec &pool, const MachineShape &shape);

/// The smallest machine that fulfils the wish and has room for the pod, as a pool without nodes, without a
/// name; nothing if there is none. \param isOut  says which machine's zones are not to be asked now.
std::optional<PoolSpec> poolFor(const PoolWish &wish, const PodNeeds &pod, const NodesCluster &cluster,
                                const std::vector<MachineOffer> &offers,
                                const std::function<bool(const std::string &zone)> &isOut = {});

/// An empty node of the pool as the scheduler would see it.
NodeTemplate templateOf(const NodesCluster &cluster, const PoolSpec &pool, const MachineShape &shape);

/// Tolerations that GKE's webhook adds to pods that select a compute class or spot machines, where the pod
/// has none.
std::vector<NodeTaint> missingTolerations(const PodNeeds &pod);

} // namespace cluster::local
