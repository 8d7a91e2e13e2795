#include "cluster/local/nodes/node_object.h"

#include "cluster/local/nodes/node_names.h"
#include "cluster/local/nodes/node_resources.h"

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

std::string machineFamily(const std::string &machineType)
{
    return machineType.substr(0, machineType.find('-'));
}

const char *provisioningLabel(Provisioning provisioning)
{
    switch (provisioning) {
    case Provisioning::Spot:
        return "spot";
    case Provisioning::Preemptible:
        return "preemptible";
    case Provisioning::Standard:
    case Provisioning::FlexStart:
        break;
    }
    return "standard";
}

bool isUbuntu(const PoolSpec &pool)
{
    return pool.imageType.find("UBUNTU") != std::string::npos;
}

void addMachineLabels(const PoolSpec &pool, const MachineShape &machine, Json &labels)
{
    labels["beta.kubernetes.io/instance-type"] = pool.machineType;
    labels["node.kubernetes.io/instance-type"] = pool.machineType;
    labels["cloud.google.com/machine-family"] = machineFamily(pool.machineType);
    labels["cloud.google.com/gke-cpu-scaling-level"] = std::to_string(machine.vcpu);
    labels["cloud.google.com/gke-memory-gb-scaling-level"] = std::to_string(std::lround(machine.memoryGb));
    labels["cloud.google.com/gke-boot-disk"] = pool.diskType;
    labels["cloud.google.com/gke-os-distribution"] = isUbuntu(pool) ? "ubuntu" : "cos";
    labels["cloud.google.com/gke-container-runtime"] = "containerd";
    labels["cloud.google.com/gke-max-pods-per-node"] = std::to_string(pool.maxPodsPerNode);
    labels["cloud.google.com/gke-logging-variant"] = "DEFAULT";
    labels["cloud.google.com/gke-netd-ready"] = "true";
    labels["cloud.google.com/gke-stack-type"] = "IPV4";
    labels["cloud.google.com/private-node"] = "true"; // there are no external addresses here
    if (pool.localSsdCount > 0)
        labels["cloud.google.com/gke-ephemeral-storage-local-ssd"] = "true";
}

void addAcceleratorLabels(const PoolSpec &pool, Json &labels)
{
    if (pool.tpuChipsPerNode > 0) {
        labels["cloud.google.com/gke-accelerator-count"] = std::to_string(pool.tpuChipsPerNode);
        labels["cloud.google.com/gke-tpu-accelerator"] = pool.tpuAccelerator;
        if (!pool.tpuTopology.empty())
            labels["cloud.google.com/gke-tpu-topology"] = pool.tpuTopology;
    }
    if (pool.gpusPerNode > 0) {
        labels["cloud.google.com/gke-accelerator"] = pool.gpuAccelerator;
        labels["cloud.google.com/gke-gpu"] = "true";
        if (!pool.gpuDriverVersion.empty())
            labels["cloud.google.com/gke-gpu-driver-version"] = pool.gpuDriverVersion;
        if (pool.isAutopilot)
            labels["cloud.google.com/gke-accelerator-count"] = std::to_string(pool.gpusPerNode);
    }
    if (!pool.acceleratorNetworkProfile.empty())
        labels["gke.networks.io/accelerator-network-profile"] = pool.acceleratorNetworkProfile;
}

void addPurchaseLabels(const PoolSpec &pool, Json &labels)
{
    labels["cloud.google.com/gke-provisioning"] = provisioningLabel(pool.provisioning);
    if (pool.provisioning == Provisioning::Spot)
        labels["cloud.google.com/gke-spot"] = "true";
    if (pool.provisioning == Provisioning::Preemptible)
        labels["cloud.google.com/gke-preemptible"] = "true";
    if (pool.provisioning == Provisioning::FlexStart)
        labels["cloud.google.com/gke-flex-start"] = "true";
    if (!pool.reservationName.empty())
        labels["cloud.google.com/reservation-name"] = pool.reservationName;
    if (!pool.computeClass.empty())
        labels["cloud.google.com/compute-class"] = pool.computeClass;
}

Json resourceList(const NodeResources &resources, const PoolSpec &pool, bool isAllocatable)
{
    // kubectl shows these as kubelet writes them: whole cores without "m", the disk's rest in bytes.
    const bool isWhole = resources.cpuMilli % 1000 == 0;
    Json list{
        {"cpu",
         isWhole ? std::to_string(resources.cpuMilli / 1000) : std::to_string(resources.cpuMilli) + 'm'},
        {"memory", std::to_string(resources.memoryBytes / 1024) + "Ki"},
        {"ephemeral-storage",
         isAllocatable ? std::to_string(resources.ephemeralBytes)
                       : std::to_string(resources.ephemeralBytes / 1024) + "Ki"},
        {"hugepages-1Gi", "0"},
        {"hugepages-2Mi", "0"},
        {"pods", std::to_string(pool.maxPodsPerNode)}};
    if (pool.tpuChipsPerNode > 0)
        list["google.com/tpu"] = std::to_string(pool.tpuChipsPerNode);
    if (pool.gpusPerNode > 0)
        list["nvidia.com/gpu"] = std::to_string(pool.gpusPerNode);
    return list;
}

Json condition(const char *type, bool isTrue, const char *reason, const std::string &message, UnixTime now)
{
    const std::string time = timestamp(now);
    return Json{{"type", type},       {"status", isTrue ? "True" : "False"}, {"reason", reason},
                {"message", message}, {"lastHeartbeatTime", time},           {"lastTransitionTime", time}};
}

/// Kubelet's, the cloud controller's and those of GKE's node problem detector.
Json allConditions(bool isReady, UnixTime now)
{
    return Json::array(
        {condition("NetworkUnavailable", false, "RouteCreated", "NodeController create implicit route", now),
         condition("MemoryPressure", false, "KubeletHasSufficientMemory",
                   "kubelet has sufficient memory available", now),
         diskCondition(false, now),
         condition("PIDPressure", false, "KubeletHasSufficientPID", "kubelet has sufficient PID available",
                   now),
         condition("KernelDeadlock", false, "KernelHasNoDeadlock", "kernel has no deadlock", now),
         condition("ReadonlyFilesystem", false, "FilesystemIsNotReadOnly", "Filesystem is not read-only",
                   now),
         condition("FrequentKubeletRestart", false, "NoFrequentKubeletRestart",
                   "kubelet is functioning properly", now),
         condition("FrequentContainerdRestart", false, "NoFrequentContainerdRestart",
                   "containerd is functioning properly", now),
         readyCondition(isReady,
                        "container runtime network not ready: NetworkReady=false "
                        "reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not "
                        "initialized",
                        now)});
}

Json nodeInfo(const PoolSpec &pool, const NodesCluster &cluster, const NodeIdentity &node)
{
    const std::string machineId = stableHex("machine/" + node.name, 32);
    const auto uuid = [](const std::string &hex) {
        return hex.substr(0, 8) + '-' + hex.substr(8, 4) + '-' + hex.substr(12, 4) + '-' + hex.substr(16, 4)
            + '-' + hex.substr(20, 12);
    };
    const std::string &version = pool.version.empty() ? cluster.version : pool.version;
    return Json{{"architecture", "amd64"},
                {"operatingSystem", "linux"},
                {"osImage", isUbuntu(pool) ? "Ubuntu 24.04 LTS" : "Container-Optimized OS from Google"},
                {"kernelVersion", isUbuntu(pool) ? "6.8.0-1030-gke" : "6.6.87+"},
                {"containerRuntimeVersion", "containerd://2.0.4"},
                {"kubeletVersion", 'v' + version},
                {"kubeProxyVersion", 'v' + version},
                {"machineID", machineId},
                {"systemUUID", uuid(machineId)},
                {"bootID", uuid(stableHex("boot/" + node.name, 32))}};
}

Json nodeStatus(const NodesCluster &cluster, const PoolSpec &pool, const MachineShape &machine,
                const NodeIdentity &node, UnixTime now, bool isReady)
{
    const NodeResources capacity = nodeCapacity(machine, pool);
    return Json{{"capacity", resourceList(capacity, pool, false)},
                {"allocatable", resourceList(nodeAllocatable(capacity, pool), pool, true)},
                {"conditions", allConditions(isReady, now)},
                {"addresses",
                 {{{"type", "InternalIP"}, {"address", node.addresses.internalIp}},
                  {{"type", "Hostname"}, {"address", node.name}}}},
                {"daemonEndpoints", {{"kubeletEndpoint", {{"Port", cluster.kubeletPort}}}}},
                {"nodeInfo", nodeInfo(pool, cluster, node)}};
}

} // namespace

UnixTime unixTimeNow()
{
    return std::chrono::duration_cast<UnixTime>(std::chrono::system_clock::now().time_since_epoch());
}

std::string timestamp(UnixTime time)
{
    const std::time_t seconds = time.count();
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[32] = {};
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

std::string microTimestamp(UnixTime time)
{
    std::string text = timestamp(time);
    text.insert(text.size() - 1, ".000000");
    return text;
}

Json readyCondition(bool isReady, const std::string &why, UnixTime now)
{
    return isReady ? condition("Ready", true, "KubeletReady", "kubelet is posting ready status", now)
                   : condition("Ready", false, "KubeletNotReady", why, now);
}

Json diskCondition(bool isFull, UnixTime now)
{
    return isFull
        ? condition("DiskPressure", true, "KubeletHasDiskPressure", "kubelet has disk pressure", now)
        : condition("DiskPressure", false, "KubeletHasNoDiskPressure", "kubelet has no disk pressure", now);
}

Json kubeletConditions(UnixTime now)
{
    return Json::array({condition("MemoryPressure", false, "KubeletHasSufficientMemory",
                                  "kubelet has sufficient memory available", now),
                        diskCondition(false, now),
                        condition("PIDPressure", false, "KubeletHasSufficientPID",
                                  "kubelet has sufficient PID available", now),
                        readyCondition(true, {}, now)});
}

Json nodeLabels(const NodesCluster &cluster, const PoolSpec &pool, const MachineShape &machine,
                const NodeIdentity &node)
{
    Json labels{{"beta.kubernetes.io/arch", "amd64"},
                {"beta.kubernetes.io/os", "linux"},
                {"kubernetes.io/arch", "amd64"},
                {"kubernetes.io/os", "linux"},
                {"kubernetes.io/hostname", node.name},
                {"failure-domain.beta.kubernetes.io/region", cluster.region},
                {"failure-domain.beta.kubernetes.io/zone", node.zone},
                {"topology.kubernetes.io/region", cluster.region},
                {"topology.kubernetes.io/zone", node.zone},
                {"topology.gke.io/zone", node.zone},
                {poolLabel, pool.name}};
    if (pool.hidesMachine)
        labels["iam.gke.io/gke-metadata-server-enabled"] = "true";
    addMachineLabels(pool, machine, labels);
    addAcceleratorLabels(pool, labels);
    addPurchaseLabels(pool, labels);
    for (const auto &[key, value] : pool.labels) {
        if (!labels.contains(key))
            labels[key] = value;
    }
    return labels;
}

Json nodeTaints(const PoolSpec &pool)
{
    Json taints = Json::array();
    const auto add = [&](const std::string &key, const std::string &value, const std::string &effect) {
        for (const Json &taint : taints) {
            if (taint["key"] == key && taint["effect"] == effect)
                return; // the user's may repeat one of GKE's
        }
        taints.push_back({{"key", key}, {"value", value}, {"effect", effect}});
    };
    if (pool.tpuChipsPerNode > 0)
        add("google.com/tpu", "present", "NoSchedule");
    if (pool.gpusPerNode > 0)
        add("nvidia.com/gpu", "present", "NoSchedule");
    if (!pool.computeClass.empty())
        add("cloud.google.com/compute-class", pool.computeClass, "NoSchedule");
    if (pool.provisioning == Provisioning::Spot && pool.isAutoCreated && pool.computeClass.empty())
        add("cloud.google.com/gke-spot", "true", "NoSchedule");
    for (const NodeTaint &taint : pool.taints)
        add(taint.key, taint.value, taint.effect);
    return taints;
}

Json nodeObject(const NodesCluster &cluster, const PoolSpec &pool, const MachineShape &machine,
                const NodeIdentity &node, UnixTime now, bool isReady)
{
    const std::string disk
        = "projects/" + cluster.project + "/zones/" + node.zone + "/instances/" + node.name;
    Json metadata{
        {"name", node.name},
        {"labels", nodeLabels(cluster, pool, machine, node)},
        {"annotations",
         {{"container.googleapis.com/instance_id", std::to_string(stableHash("instance/" + node.name) >> 1U)},
          {"csi.volume.kubernetes.io/nodeid", R"({"pd.csi.storage.gke.io":")" + disk + "\"}"},
          {"volumes.kubernetes.io/controller-managed-attach-detach", "true"}}}};
    Json spec{{"providerID", "gce://" + cluster.project + '/' + node.zone + '/' + node.name}};
    if (!node.addresses.podCidr.empty()) {
        spec["podCIDR"] = node.addresses.podCidr;
        spec["podCIDRs"] = Json::array({node.addresses.podCidr});
    }
    if (Json taints = nodeTaints(pool); !taints.empty())
        spec["taints"] = std::move(taints);
    return Json{{"apiVersion", "v1"},
                {"kind", "Node"},
                {"metadata", std::move(metadata)},
                {"spec", std::move(spec)},
                {"status", nodeStatus(cluster, pool, machine, node, now, isReady)}};
}

} // namespace cluster::local
