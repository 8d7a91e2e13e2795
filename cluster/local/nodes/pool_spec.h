#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cluster::local {

/// The label (and taint) of a node, and the nodeSelector of a pod, that name a ComputeClass.
constexpr const char *classLabel = "cloud.google.com/compute-class";

struct NodeTaint
{
    std::string key;
    std::string value;
    std::string effect; ///< "NoSchedule", "PreferNoSchedule", "NoExecute"

    friend bool operator==(const NodeTaint &, const NodeTaint &) = default;
};

/// How a pool's machines are bought: GKE's gke-provisioning label.
enum class Provisioning { Standard, Spot, Preemptible, FlexStart };

/// A node pool as its nodes need it: what Google's side decides (checked there against the rules), free of
/// wire formats. Shared by cluster/local/gcp and cluster/local/nodes.
struct PoolSpec
{
    std::string name;
    std::string machineType; ///< "ct6e-standard-4t"
    std::vector<std::string> zones; ///< of the nodes, in turn; never empty
    int nodeCount = 0; ///< over all zones; of a slice: 0 or hosts of the topology
    std::string tpuTopology; ///< "4x4"; empty: no TPU. Also set for single-host TPU pools
    std::string tpuAccelerator; ///< label value: "tpu-v6e-slice"
    int tpuChipsPerNode = 0;
    bool isMultiHost = false; ///< one atomic slice
    std::string gpuAccelerator; ///< label value: "nvidia-l4"
    int gpusPerNode = 0;
    std::string gpuDriverVersion; ///< "latest", "default"; empty: none given
    Provisioning provisioning = Provisioning::Standard;
    bool isAutoscaled = false;
    int minNodes = 0; ///< over all zones
    int maxNodes = 0;
    bool isAutoCreated = false; ///< by Autopilot or node auto-provisioning; goes when unused
    bool isAutopilot = false; ///< nodes are named gk3-…
    std::string computeClass; ///< label and taint cloud.google.com/compute-class; empty: none
    std::string reservationName;
    std::string acceleratorNetworkProfile; ///< "auto"; empty: none
    std::map<std::string, std::string> labels; ///< the user's
    std::vector<NodeTaint> taints; ///< the user's
    std::string imageType = "COS_CONTAINERD";
    std::string diskType = "pd-balanced"; ///< boot disk
    int diskGb = 100;
    int maxPodsPerNode = 110;
    int localSsdCount = 0; ///< as ephemeral storage, 375 GB each
    bool hidesMachine = true; ///< workloadMetadataConfig GKE_METADATA: pods see GKE's metadata server
    std::string version; ///< "1.34.1-gke.3084001": of the kubelet

    friend bool operator==(const PoolSpec &, const PoolSpec &) = default;
};

} // namespace cluster::local
