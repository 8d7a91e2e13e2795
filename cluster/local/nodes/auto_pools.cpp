#include "cluster/local/nodes/auto_pools.h"

#include "cluster/catalog/gke_catalog.h"
#include "cluster/local/nodes/json_access.h"

#include "cluster/local/nodes/node_object.h"
#include "cluster/local/nodes/node_pools_private.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

constexpr const char *spotLabel = "cloud.google.com/gke-spot";

using json_access::at;
using json_access::text;

double number(const Json &object, const char *key)
{
    const Json &value = at(object, key);
    return value.is_number() ? value.get<double>() : 0;
}

bool flag(const Json &object, const char *key)
{
    const Json &value = at(object, key);
    return value.is_boolean() && value.get<bool>();
}

std::vector<std::string> texts(const Json &array)
{
    std::vector<std::string> result;
    for (const Json &entry : array) {
        if (entry.is_string())
            result.push_back(entry.get<std::string>());
    }
    return result;
}

bool isSystemLabel(const std::string &key)
{
    return key.find("kubernetes.io/") != std::string::npos || key.find("gke.io/") != std::string::npos
        || key.find("google.com/") != std::string::npos;
}

/// What the pod's own selectors say, without a class.
PoolWish podWish(const PodNeeds &pod)
{
    PoolWish wish;
    wish.machineType = pod.wanted("node.kubernetes.io/instance-type");
    wish.machineFamily = pod.wanted("cloud.google.com/machine-family");
    wish.gpuType = pod.wanted("cloud.google.com/gke-accelerator");
    wish.gpuDriverVersion = pod.wanted("cloud.google.com/gke-gpu-driver-version");
    wish.tpuType = pod.wanted("cloud.google.com/gke-tpu-accelerator");
    wish.tpuTopology = pod.wanted("cloud.google.com/gke-tpu-topology");
    wish.tpuCount = static_cast<int>(pod.amount("google.com/tpu"));
    wish.gpuCount = static_cast<int>(pod.amount("nvidia.com/gpu"));
    wish.reservationName = pod.wanted("cloud.google.com/reservation-name");
    if (pod.wanted(spotLabel) == "true")
        wish.provisioning = Provisioning::Spot;
    else if (pod.wanted("cloud.google.com/gke-flex-start") == "true")
        wish.provisioning = Provisioning::FlexStart;
    if (const std::string zone = pod.wanted("topology.kubernetes.io/zone"); !zone.empty())
        wish.zones = {zone};
    // Workload separation: labels of the user's own, and the taint that goes with them where it is tolerated.
    for (const auto &[key, value] : pod.selector) {
        if (isSystemLabel(key))
            continue;
        wish.labels[key] = value;
        for (const NodeTaint &toleration : pod.tolerations) {
            if (toleration.key == key && toleration.value == value)
                wish.taints.push_back(
                    {key, value, toleration.effect.empty() ? "NoSchedule" : toleration.effect});
        }
    }
    return wish;
}

void takeTaints(const Json &taints, PoolWish &wish)
{
    for (const Json &taint : taints)
        wish.taints.push_back({text(taint, "key"), text(taint, "value"), text(taint, "effect")});
}

void takeLabels(const Json &labels, PoolWish &wish)
{
    if (!labels.is_object())
        return;
    for (const auto &[key, value] : labels.items()) {
        if (value.is_string())
            wish.labels[key] = value.get<std::string>();
    }
}

void takeAccelerators(const Json &rule, PoolWish &wish)
{
    if (const Json &gpu = at(rule, "gpu"); gpu.is_object()) {
        wish.gpuType = text(gpu, "type");
        wish.gpuCount = static_cast<int>(number(gpu, "count"));
        wish.gpuDriverVersion = text(gpu, "driverVersion");
    }
    if (const Json &tpu = at(rule, "tpu"); tpu.is_object()) {
        wish.tpuType = text(tpu, "type");
        wish.tpuCount = static_cast<int>(number(tpu, "count"));
        wish.tpuTopology = text(tpu, "topology");
    }
    wish.acceleratorNetworkProfile = text(rule, "acceleratorNetworkProfile");
}

void takeStorage(const Json &rule, PoolWish &wish)
{
    const Json &storage = at(rule, "storage");
    wish.diskType = text(storage, "bootDiskType");
    wish.diskGb = static_cast<int>(number(storage, "bootDiskSize"));
    wish.localSsdCount = static_cast<int>(number(storage, "localSSDCount"));
    wish.maxPodsPerNode = static_cast<int>(number(rule, "maxPodsPerNode"));
}

void takeRule(const Json &rule, PoolWish &wish)
{
    wish.machineType = text(rule, "machineType");
    wish.machineFamily = text(rule, "machineFamily");
    wish.minCores = number(rule, "minCores");
    wish.minMemoryGb = number(rule, "minMemoryGb");
    takeAccelerators(rule, wish);
    takeStorage(rule, wish);
    if (flag(rule, "spot"))
        wish.provisioning = Provisioning::Spot;
    if (flag(at(rule, "flexStart"), "enabled"))
        wish.provisioning = Provisioning::FlexStart;
    if (const auto zones = texts(at(at(rule, "location"), "zones")); !zones.empty())
        wish.zones = zones;
    wish.nodePools = texts(at(rule, "nodepools"));
    for (const Json &reservation : at(at(rule, "reservations"), "specific"))
        wish.reservationName = text(reservation, "name");
    takeLabels(at(rule, "nodeLabels"), wish);
    takeTaints(at(rule, "taints"), wish);
}

/// What a class says of all its pools.
void takeConfig(const Json &spec, PoolWish &wish)
{
    const Json &config = at(spec, "nodePoolConfig");
    if (const auto zones = texts(at(at(at(spec, "priorityDefaults"), "location"), "zones")); !zones.empty())
        wish.zones = zones;
    takeLabels(at(config, "nodeLabels"), wish);
    takeTaints(at(config, "taints"), wish);
    for (const char c : text(config, "imageType"))
        wish.imageType += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    if (flag(at(at(config, "dra"), "networking"), "enabled"))
        wish.labels["cloud.google.com/gke-networking-dra-driver"] = "true";
}

std::string keyOf(const PoolWish &wish)
{
    std::string key = wish.computeClass + '/' + wish.machineType + '/' + wish.machineFamily + '/'
        + wish.gpuType + '*' + std::to_string(wish.gpuCount) + '/' + wish.tpuType + '*'
        + std::to_string(wish.tpuCount) + '/' + wish.tpuTopology + '/'
        + std::to_string(static_cast<int>(wish.provisioning)) + '/' + wish.reservationName;
    for (const std::string &zone : wish.zones)
        key += '/' + zone;
    return key;
}

bool isInFamily(const std::string &machineType, const std::string &family)
{
    return machineType.starts_with(family + '-');
}

bool matches(const PoolWish &wish, const MachineOffer &offer)
{
    if (!wish.machineType.empty() && offer.name != wish.machineType)
        return false;
    if (!wish.machineFamily.empty() && !isInFamily(offer.name, wish.machineFamily))
        return false;
    // A machine type may bring its accelerator without the rule's saying so.
    const auto isRight = [&](const std::string &has, const std::string &wanted) {
        return has == wanted || (wanted.empty() && !wish.machineType.empty());
    };
    if (!isRight(offer.gpuAccelerator, wish.gpuType) || !isRight(offer.tpuAccelerator, wish.tpuType))
        return false;
    if (!wish.gpuType.empty() && wish.gpuCount > 0 && offer.gpus != wish.gpuCount)
        return false;
    if (!wish.tpuType.empty() && wish.tpuCount > 0 && offer.tpuChips != wish.tpuCount)
        return false;
    return offer.shape.vcpu >= wish.minCores && offer.shape.memoryGb >= wish.minMemoryGb;
}

/// E2 where nothing else is said, as node auto-provisioning does; then the smaller machine.
bool isBetter(const MachineOffer &a, const MachineOffer &b)
{
    const auto rank = [](const MachineOffer &offer) {
        return std::tuple(!offer.name.starts_with("e2-standard"), offer.shape.vcpu, offer.shape.memoryGb,
                          offer.name);
    };
    return rank(a) < rank(b);
}

std::vector<std::string> commonZones(const PoolWish &wish, const MachineOffer &offer)
{
    std::vector<std::string> zones;
    for (const std::string &zone : offer.zones) {
        if (wish.zones.empty() || std::find(wish.zones.begin(), wish.zones.end(), zone) != wish.zones.end())
            zones.push_back(zone);
    }
    return zones;
}

PoolSpec poolOf(const PoolWish &wish, const MachineOffer &offer, const std::string &zone)
{
    PoolSpec pool;
    pool.machineType = offer.name;
    pool.zones = {zone}; // accelerators are zonal; other pools of one zone are as good
    pool.gpuAccelerator = offer.gpuAccelerator;
    pool.gpusPerNode = offer.gpus;
    pool.gpuDriverVersion = wish.gpuDriverVersion;
    pool.tpuAccelerator = offer.tpuAccelerator;
    pool.tpuChipsPerNode = offer.tpuChips;
    pool.tpuTopology = wish.tpuTopology;
    pool.provisioning = wish.provisioning;
    pool.computeClass = wish.computeClass;
    pool.reservationName = wish.reservationName;
    pool.acceleratorNetworkProfile = wish.acceleratorNetworkProfile;
    pool.labels = wish.labels;
    pool.taints = wish.taints;
    if (!wish.imageType.empty())
        pool.imageType = wish.imageType;
    if (!wish.diskType.empty())
        pool.diskType = wish.diskType;
    else if (takesHyperdiskOnly(offer.name))
        pool.diskType = "hyperdisk-balanced";
    if (wish.diskGb > 0)
        pool.diskGb = wish.diskGb;
    if (wish.maxPodsPerNode > 0)
        pool.maxPodsPerNode = wish.maxPodsPerNode;
    pool.localSsdCount = wish.localSsdCount;
    pool.isAutoCreated = true;
    pool.isAutoscaled = true;
    const int hosts = offer.tpuChips > 0 && !wish.tpuTopology.empty() ? hostsOf(pool) : 0;
    pool.isMultiHost = hosts > 1;
    constexpr int mostNodes = 1000;
    pool.maxNodes = pool.isMultiHost ? hosts : mostNodes;
    return pool;
}

} // namespace

std::vector<PoolWish> wishesOf(const PodNeeds &pod, const Json &computeClass)
{
    const PoolWish own = podWish(pod);
    std::vector<PoolWish> wishes;
    const std::string className = pod.wanted(classLabel);
    const Json &spec = at(computeClass, "spec");
    for (const Json &rule : at(spec, "priorities")) {
        PoolWish wish = own;
        wish.computeClass = className;
        wish.rule = static_cast<int>(wishes.size());
        takeConfig(spec, wish);
        takeRule(rule, wish);
        if (wish.tpuTopology.empty())
            wish.tpuTopology = own.tpuTopology;
        wishes.push_back(std::move(wish));
    }
    if (spec.is_null() || text(spec, "whenUnsatisfiable") == "ScaleUpAnyway") {
        wishes.push_back(own);
        wishes.back().computeClass = className;
        takeConfig(spec, wishes.back());
    }
    for (PoolWish &wish : wishes)
        wish.key = keyOf(wish);
    return wishes;
}

std::vector<PoolWish> rulesOf(const std::string &className, const Json &computeClass)
{
    PodNeeds anyPod;
    anyPod.selector[classLabel] = className;
    std::vector<PoolWish> rules = wishesOf(anyPod, computeClass);
    std::erase_if(rules, [](const PoolWish &wish) { return wish.rule < 0; });
    return rules;
}

bool isSuited(const PoolWish &wish, const PoolSpec &pool, const MachineShape &shape)
{
    const auto contains = [](const std::vector<std::string> &list, const std::string &value) {
        return std::find(list.begin(), list.end(), value) != list.end();
    };
    if (!wish.nodePools.empty())
        return contains(wish.nodePools, pool.name);
    const bool isInZones = wish.zones.empty()
        || std::all_of(pool.zones.begin(), pool.zones.end(),
                       [&](const std::string &zone) { return contains(wish.zones, zone); });
    const bool isMachine = (wish.machineType.empty() || wish.machineType == pool.machineType)
        && (wish.machineFamily.empty() || isInFamily(pool.machineType, wish.machineFamily))
        && shape.vcpu >= wish.minCores && shape.memoryGb >= wish.minMemoryGb;
    // A machine type may bring its accelerator without the rule's saying so.
    const bool isGpu = wish.gpuType.empty()
        ? pool.gpusPerNode == 0 || !wish.machineType.empty()
        : pool.gpuAccelerator == wish.gpuType && (wish.gpuCount == 0 || pool.gpusPerNode == wish.gpuCount);
    const bool isTpu = wish.tpuType.empty() ? pool.tpuChipsPerNode == 0 || !wish.machineType.empty()
                                            : pool.tpuAccelerator == wish.tpuType
            && (wish.tpuCount == 0 || pool.tpuChipsPerNode == wish.tpuCount);
    const bool isTopology
        = wish.tpuTopology.empty() || pool.tpuTopology.empty() || wish.tpuTopology == pool.tpuTopology;
    return isInZones && isMachine && isGpu && isTpu && isTopology && pool.provisioning == wish.provisioning
        && (wish.reservationName.empty() || wish.reservationName == pool.reservationName);
}

bool canCreatePools(const Json &computeClass)
{
    const Json &spec = at(computeClass, "spec");
    return flag(at(spec, "nodePoolAutoCreation"), "enabled") || flag(at(spec, "autopilot"), "enabled");
}

std::optional<PoolSpec> poolFor(const PoolWish &wish, const PodNeeds &pod, const NodesCluster &cluster,
                                const std::vector<MachineOffer> &offers,
                                const std::function<bool(const std::string &zone)> &isOut)
{
    const MachineOffer *best = nullptr;
    std::optional<PoolSpec> bestPool;
    for (const MachineOffer &offer : offers) {
        if (!matches(wish, offer) || (best && !isBetter(offer, *best)))
            continue;
        std::vector<std::string> zones = commonZones(wish, offer);
        if (isOut)
            std::erase_if(zones, isOut);
        if (zones.empty())
            continue;
        PoolSpec pool = poolOf(wish, offer, zones.front());
        if (offer.tpuChips > 0 && !wish.tpuTopology.empty() && hostsOf(pool) == 0)
            continue;
        PodNeeds tolerant = pod;
        for (const NodeTaint &toleration : missingTolerations(pod))
            tolerant.tolerations.push_back(toleration);
        if (!misfit(tolerant, templateOf(cluster, pool, offer.shape)).empty())
            continue;
        best = &offer;
        bestPool = std::move(pool);
    }
    return bestPool;
}

NodeTemplate templateOf(const NodesCluster &cluster, const PoolSpec &pool, const MachineShape &shape)
{
    const NodeIdentity node{
        "template-node-for-" + pool.name, pool.zones.empty() ? "" : pool.zones.front(), {}};
    return nodeTemplate(nodeObject(cluster, pool, shape, node, UnixTime(0)));
}

std::vector<NodeTaint> missingTolerations(const PodNeeds &pod)
{
    std::vector<NodeTaint> missing;
    const auto want = [&](const std::string &key, const std::string &value) {
        const bool isThere
            = std::any_of(pod.tolerations.begin(), pod.tolerations.end(), [&](const NodeTaint &toleration) {
                  return toleration.key == key || toleration.key.empty();
              });
        if (!isThere && !value.empty())
            missing.push_back({key, value, "NoSchedule"});
    };
    want(classLabel, pod.wanted(classLabel));
    want(spotLabel, pod.wanted(spotLabel));
    return missing;
}

} // namespace cluster::local
