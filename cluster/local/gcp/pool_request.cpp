#include "cluster/local/gcp/pool_request.h"

#include "cluster/local/gcp/json_members.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr int kMostNodes = 15000; // GKE's limit of a cluster

int number(const json &object, const char *name, int otherwise = 0)
{
    const json &value = member(object, name);
    if (value.is_null())
        return otherwise;
    return static_cast<int>(std::clamp<std::int64_t>(integerOf(value), -1, 1000000));
}

/// "NO_SCHEDULE" is "NoSchedule" on a node.
std::string effectOf(const std::string &name)
{
    if (name == "NO_SCHEDULE")
        return "NoSchedule";
    if (name == "PREFER_NO_SCHEDULE")
        return "PreferNoSchedule";
    if (name == "NO_EXECUTE")
        return "NoExecute";
    return name;
}

void readAutoscaling(const json &autoscaling, PoolRequest &request)
{
    request.spec.isAutoscaled = flagMember(autoscaling, "enabled");
    request.spec.isAutoCreated = flagMember(autoscaling, "autoprovisioned");
    request.minPerZone = number(autoscaling, "minNodeCount");
    request.maxPerZone = number(autoscaling, "maxNodeCount");
    request.locationPolicy = textMember(autoscaling, "locationPolicy");
    request.totalMin = number(autoscaling, "totalMinNodeCount");
    request.totalMax = number(autoscaling, "totalMaxNodeCount");
    const int zones = static_cast<int>(request.spec.zones.size());
    request.spec.minNodes = std::max(request.minPerZone * zones, request.totalMin);
    request.spec.maxNodes = request.totalMax > 0 ? request.totalMax : request.maxPerZone * zones;
}

void readAccelerators(const json &config, PoolRequest &request)
{
    const json &accelerators = member(config, "accelerators");
    if (!accelerators.is_array() || accelerators.empty())
        return;
    const json &first = accelerators.front();
    request.gpuType = textMember(first, "acceleratorType");
    request.gpuCount = number(first, "acceleratorCount");
    const std::string version = textMember(member(first, "gpuDriverInstallationConfig"), "gpuDriverVersion");
    if (version == "LATEST")
        request.spec.gpuDriverVersion = "latest";
    else if (version == "DEFAULT")
        request.spec.gpuDriverVersion = "default";
}

void readProvisioning(const json &config, PoolRequest &request)
{
    request.isFlexStart = flagMember(config, "flexStart");
    request.maxRunDuration = textMember(config, "maxRunDuration");
    if (flagMember(config, "spot"))
        request.spec.provisioning = Provisioning::Spot;
    else if (flagMember(config, "preemptible"))
        request.spec.provisioning = Provisioning::Preemptible;
    else if (request.isFlexStart)
        request.spec.provisioning = Provisioning::FlexStart;
    const json &affinity = member(config, "reservationAffinity");
    const std::string type = textMember(affinity, "consumeReservationType");
    request.takesAnyReservation = type == "ANY_RESERVATION";
    request.usesReservation = type == "SPECIFIC_RESERVATION";
    const json &names = member(affinity, "values");
    if (!request.usesReservation)
        return;
    request.reservationKey = textMember(affinity, "key");
    if (names.is_array())
        request.reservations = names.get<std::vector<std::string>>();
    if (!request.reservations.empty())
        request.spec.reservationName = request.reservations.front();
}

void readConfig(const json &config, PoolRequest &request)
{
    PoolSpec &spec = request.spec;
    spec.machineType = textMember(config, "machineType", "e2-medium");
    spec.imageType = textMember(config, "imageType", "COS_CONTAINERD");
    spec.diskType = textMember(config, "diskType", "pd-balanced");
    spec.diskGb = number(config, "diskSizeGb", 100);
    spec.localSsdCount = number(member(config, "ephemeralStorageLocalSsdConfig"), "localSsdCount",
                                number(config, "localSsdCount"));
    for (const auto &[key, value] : member(config, "labels").items())
        spec.labels[key] = value.get<std::string>();
    for (const json &taint : member(config, "taints")) {
        // Those of accelerators come with the machine: a pool that is read back has them in its JSON.
        const std::string key = textMember(taint, "key");
        if (key != "google.com/tpu" && key != "nvidia.com/gpu")
            spec.taints.push_back({key, textMember(taint, "value"), effectOf(textMember(taint, "effect"))});
    }
    spec.computeClass = textMember(config, "computeClass");
    // Where the cluster has Workload Identity a new pool is given one, see addConfigDefaults().
    const std::string mode = textMember(member(config, "workloadMetadataConfig"), "mode");
    spec.hidesMachine = mode == "GKE_METADATA";
    request.secondaryBootDisks = static_cast<int>(member(config, "secondaryBootDisks").size());
    request.streamsImages = flagMember(member(config, "gcfsConfig"), "enabled");
    readAccelerators(config, request);
    readProvisioning(config, request);
}

/// TPUs and GPUs come with the machine type, whatever else is asked for.
void addAccelerators(PoolRequest &request, const GkeCatalog &gke, const ComputeCatalog &compute)
{
    PoolSpec &spec = request.spec;
    if (const TpuMachine *tpu = gke.tpuMachine(spec.machineType)) {
        spec.tpuAccelerator = gke.tpuFamily(spec.machineType)->label;
        spec.tpuChipsPerNode = tpu->chips;
        const bool isSlice
            = !request.requestedTopology.empty() && request.requestedTopology != tpu->singleTopology;
        spec.isMultiHost = isSlice;
        spec.tpuTopology = isSlice ? request.requestedTopology : tpu->singleTopology;
        return;
    }
    spec.gpuAccelerator = request.gpuType;
    spec.gpusPerNode = request.gpuCount;
    const auto machine = compute.machine(spec.machineType);
    if (spec.gpuAccelerator.empty() && machine && !machine->accelerator.empty()) {
        spec.gpuAccelerator = machine->accelerator;
        spec.gpusPerNode = std::max(1, static_cast<int>(machine->acceleratorCount));
    }
}

} // namespace

std::int64_t integerOf(const json &value)
{
    if (!value.is_string())
        return value.get<std::int64_t>();
    const auto &digits = value.get_ref<const std::string &>();
    std::int64_t result = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
    if (error != std::errc() || end != digits.data() + digits.size())
        throw json::type_error::create(302, "type must be number, but is the text \"" + digits + "\"",
                                       &value);
    return result;
}

GoogleResult<PoolRequest> poolRequestOf(const json &pool, const PoolSurroundings &surroundings,
                                        const GkeCatalog &gke, const ComputeCatalog &compute)
{
    PoolRequest request;
    PoolSpec &spec = request.spec;
    spec.name = textMember(pool, "name");
    spec.version = textMember(pool, "version", surroundings.version.c_str());
    const json &locations = member(pool, "locations");
    request.hasZonesOfItsOwn = locations.is_array() && !locations.empty();
    spec.zones = request.hasZonesOfItsOwn ? locations.get<std::vector<std::string>>() : surroundings.zones;
    const json &placement = member(pool, "placementPolicy");
    request.requestedTopology = textMember(placement, "tpuTopology");
    request.placementPolicy = textMember(placement, "policyName");
    request.placementPolicy.erase(0, request.placementPolicy.rfind('/') + 1); // also as a URL
    request.isCompact = textMember(placement, "type") == "COMPACT";
    request.isQueued = flagMember(member(pool, "queuedProvisioning"), "enabled");
    request.upgradeStrategy = textMember(member(pool, "upgradeSettings"), "strategy");
    const json &management = member(pool, "management");
    request.autoRepair = management.is_null() || flagMember(management, "autoRepair");
    spec.maxPodsPerNode = number(member(pool, "maxPodsConstraint"), "maxPodsPerNode", 110);
    spec.acceleratorNetworkProfile = textMember(member(pool, "networkConfig"), "acceleratorNetworkProfile");
    spec.isAutopilot = surroundings.isAutopilot;
    readConfig(member(pool, "config"), request);
    addAccelerators(request, gke, compute);
    readAutoscaling(member(pool, "autoscaling"), request);
    if (pool.contains("initialNodeCount"))
        request.initialNodeCount = number(pool, "initialNodeCount");
    const int perZone = request.initialNodeCount.value_or(0);
    if (perZone < 0 || perZone > kMostNodes)
        return googleFail(ErrorCode::InvalidArgument,
                          "Invalid value for field \"node_pool.initial_node_count\": "
                              + std::to_string(perZone) + " is not between 0 and "
                              + std::to_string(kMostNodes) + ".");
    spec.nodeCount = perZone * static_cast<int>(spec.zones.size());
    return request;
}

} // namespace cluster::local
