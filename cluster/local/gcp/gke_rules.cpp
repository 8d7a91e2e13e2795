#include "cluster/local/gcp/gke_rules.h"

#include "cluster/local/gcp/placement_rules.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>

namespace cluster::local {

namespace {

constexpr std::size_t kLongestName = 40;

bool isName(const std::string &name)
{
    const auto isLetter = [](char c) { return c >= 'a' && c <= 'z'; };
    const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    return !name.empty() && name.size() <= kLongestName && isLetter(name.front()) && name.back() != '-'
        && std::all_of(name.begin(), name.end(),
                       [&](char c) { return isLetter(c) || isDigit(c) || c == '-'; });
}

GoogleStatus checkName(const std::string &field, const std::string &name)
{
    if (isName(name))
        return {};
    return invalidArgument(
        "Invalid value for field \"" + field + "\": \"" + name
        + "\" (only lowercase alphanumerics and '-' allowed, must start with a letter and end with "
          "an alphanumeric, and must be no longer than 40 characters).");
}

GoogleStatus checkMachine(const PoolRequest &request, const ComputeCatalog &compute)
{
    const PoolSpec &spec = request.spec;
    const auto machine = compute.machine(spec.machineType);
    for (const std::string &zone : spec.zones) {
        const Accelerator *accelerator
            = machine && !machine->accelerator.empty() ? compute.accelerator(machine->accelerator) : nullptr;
        const bool isThere = machine
            && (!accelerator
                || std::find(accelerator->zones.begin(), accelerator->zones.end(), zone)
                    != accelerator->zones.end());
        if (!isThere)
            return invalidArgument("Google Compute Engine: Machine type with name '" + spec.machineType
                                   + "' does not exist in zone '" + zone + "'.");
    }
    return {};
}

/// GPUs that are asked for by name.
GoogleStatus checkGpus(const PoolRequest &request, const ComputeCatalog &compute)
{
    if (request.gpuType.empty() && request.gpuCount == 0)
        return {};
    const PoolSpec &spec = request.spec;
    const Accelerator *wanted = compute.accelerator(request.gpuType);
    if (!wanted || wanted->isTpu)
        return invalidArgument("Accelerator type " + quoted(request.gpuType) + " does not exist.");
    const auto machine = compute.machine(spec.machineType);
    const bool isBuiltIn = machine && !machine->accelerator.empty();
    if (isBuiltIn && machine->accelerator != request.gpuType)
        return invalidArgument("Accelerator type " + quoted(request.gpuType)
                               + " is not supported by machine type " + quoted(spec.machineType)
                               + ", which has " + quoted(machine->accelerator) + ".");
    const double count = isBuiltIn ? std::max(1.0, machine->acceleratorCount) : request.gpuCount;
    if (request.gpuCount < 1 || static_cast<double>(request.gpuCount) != count)
        return invalidArgument("Accelerator count " + std::to_string(request.gpuCount)
                               + " is not valid for machine type " + quoted(spec.machineType) + ": it has "
                               + std::to_string(static_cast<int>(count)) + " of " + quoted(request.gpuType)
                               + ".");
    if (!isBuiltIn && !spec.machineType.starts_with("n1-"))
        return invalidArgument("Accelerators can be attached to N1 machine types only, not to "
                               + quoted(spec.machineType) + ".");
    for (const std::string &zone : spec.zones) {
        if (std::find(wanted->zones.begin(), wanted->zones.end(), zone) == wanted->zones.end())
            return invalidArgument("Google Compute Engine: Accelerator type with name '" + request.gpuType
                                   + "' does not exist in zone '" + zone + "'.");
    }
    return {};
}

GoogleStatus checkSliceSize(const char *what, int count, const PoolSpec &spec, bool mayBeZero)
{
    const int hosts = hostsOfSlice(spec);
    if (count == hosts || (mayBeZero && count == 0))
        return {};
    return invalidArgument(std::string(what) + " " + std::to_string(count)
                           + " is not a valid size of TPU pod slice with topology " + quoted(spec.tpuTopology)
                           + ", which has " + std::to_string(hosts) + " nodes.");
}

GoogleStatus checkTopology(const PoolRequest &request, const TpuFamily &family, const TpuMachine &machine)
{
    const std::string &topology = request.requestedTopology;
    if (topology == machine.singleTopology || (!topology.empty() && machine.slices.empty()))
        return invalidArgument(
            "TPU topology can't be specified with single-host TPU slice pool; please remove the "
            "tpu_topology from the node pool creation request if the node pool is intented to run "
            "with single-host TPU slice nodes."); // with GKE's spelling
    if (!topology.empty() && !isSliceTopology(machine, topology))
        return invalidArgument("TPU topology " + quoted(topology) + " is not valid for machine type "
                               + quoted(machine.name) + ".");
    if (!topology.empty() && family.wantsWorkloadPolicy && request.placementPolicy.empty())
        return wantsWorkloadPolicy(machine.name);
    return {};
}

GoogleStatus checkSlice(const PoolRequest &request)
{
    const PoolSpec &spec = request.spec;
    if (spec.zones.size() != 1)
        return invalidArgument(
            "Multi-host TPU node pools must be in exactly one zone; set the node pool's locations.");
    const bool mayBeEmpty = spec.isAutoscaled;
    auto size = checkSliceSize("Initial node count", request.initialNodeCount.value_or(0), spec, mayBeEmpty);
    if (size && spec.isAutoscaled)
        size = checkAutoscaling(request);
    return size;
}

GoogleStatus checkTpu(const PoolRequest &request, const PoolSurroundings &surroundings, const GkeCatalog &gke)
{
    const PoolSpec &spec = request.spec;
    const TpuMachine *machine = gke.tpuMachine(spec.machineType);
    if (!machine) {
        if (!request.requestedTopology.empty())
            return invalidArgument("TPU topology can't be specified with machine type "
                                   + quoted(spec.machineType) + ", which has no TPUs.");
        return {};
    }
    const TpuFamily &family = *gke.tpuFamily(spec.machineType);
    if (request.gpuCount > 0 || !request.gpuType.empty())
        return invalidArgument("Accelerators can't be attached to TPU machine type "
                               + quoted(spec.machineType) + ".");
    if (auto topology = checkTopology(request, family, *machine); !topology)
        return topology;
    const std::string &floor = surroundings.isAutopilot ? family.minAutopilotVersion : family.minVersion;
    if (!floor.empty() && GkeVersion::parse(spec.version) < GkeVersion::parse(floor))
        return invalidArgument("Machine type " + quoted(spec.machineType) + " requires GKE version " + floor
                               + " or later; the node pool's version is " + spec.version + ".");
    return spec.isMultiHost ? checkSlice(request) : GoogleStatus{};
}

/// "600s" to "604800s", as durations come in JSON.
GoogleStatus checkMaxRunDuration(const std::string &duration)
{
    constexpr std::int64_t shortest = 600;
    constexpr std::int64_t longest = 7 * 24 * 3600;
    if (duration.empty())
        return {};
    std::int64_t seconds = 0;
    const char *const end = duration.data() + duration.size();
    const auto [rest, failure] = std::from_chars(duration.data(), end, seconds);
    const bool isRead
        = failure == std::errc{} && rest != end && (*rest == 's' || *rest == '.') && end[-1] == 's';
    if (isRead && seconds >= shortest && seconds <= longest)
        return {};
    return invalidArgument("Max run duration " + quoted(duration)
                           + " must be between 10 minutes and 7 days.");
}

GoogleStatus checkQueued(const PoolRequest &request)
{
    if (!request.isQueued)
        return {};
    if (!request.spec.isAutoscaled || request.minPerZone != 0 || request.totalMin != 0
        || request.initialNodeCount.value_or(0) != 0)
        return invalidArgument(
            "Queued provisioning node pools require autoscaling enabled, with a minimum and an "
            "initial node count of 0.");
    if (request.isCompact)
        return invalidArgument("Queued provisioning can't be combined with compact placement.");
    return {};
}

GoogleStatus checkProvisioning(const PoolRequest &request)
{
    const PoolSpec &spec = request.spec;
    const bool isSpot
        = spec.provisioning == Provisioning::Spot || spec.provisioning == Provisioning::Preemptible;
    if (request.isFlexStart && isSpot)
        return invalidArgument("Flex start can't be combined with spot or preemptible VMs.");
    if ((request.isFlexStart || isSpot || request.isQueued)
        && (request.usesReservation || request.takesAnyReservation))
        return invalidArgument("Reservation affinity must be NO_RESERVATION for spot, flex start and queued "
                               "provisioning node pools.");
    if (auto duration = checkMaxRunDuration(request.maxRunDuration); !duration)
        return duration;
    if (auto queued = checkQueued(request); !queued)
        return queued;
    if (!request.isFlexStart)
        return {};
    if (!spec.isAutoscaled)
        return invalidArgument("Flex start node pools require autoscaling enabled.");
    // GKE's own pools come with the nodes that a pod waits for.
    if (request.initialNodeCount.value_or(0) != 0 && !spec.isAutoCreated)
        return invalidArgument("Flex start node pools require initial node count to be set to 0.");
    if (request.autoRepair)
        return invalidArgument("Flex start node pools require auto repair to be disabled.");
    if (!request.locationPolicy.empty() && request.locationPolicy != "ANY"
        && request.locationPolicy != "LOCATION_POLICY_UNSPECIFIED")
        return invalidArgument("Flex start node pools require location policy ANY.");
    return {};
}

} // namespace

GoogleStatus checkClusterName(const std::string &name)
{
    return checkName("cluster.name", name);
}

GoogleStatus checkPoolName(const std::string &name)
{
    return checkName("node_pool.name", name);
}

GoogleStatus checkLocation(const std::string &location, const ComputeCatalog &compute)
{
    if (compute.hasZone(location) || compute.hasRegion(location))
        return {};
    return googleFail(ErrorCode::PermissionDenied,
                      "Permission denied on 'locations/" + location + "' (or it may not exist).");
}

GoogleStatus checkNodeZones(const std::string &location, const std::vector<std::string> &zones,
                            const ComputeCatalog &compute)
{
    const std::string region = regionOfZone(location);
    std::set<std::string> seen;
    for (const std::string &zone : zones) {
        if (!compute.hasZone(zone) || regionOfZone(zone) != region)
            return invalidArgument("Invalid location " + quoted(zone)
                                   + ": node locations must be zones of region " + quoted(region) + ".");
        if (!seen.insert(zone).second)
            return invalidArgument("Location " + quoted(zone) + " is named twice.");
    }
    return {};
}

GoogleResult<std::string> checkMasterVersion(const std::string &wanted, const std::string &channel,
                                             const GkeCatalog &gke)
{
    if (!channel.empty() && channel != "UNSPECIFIED" && !gke.channel(channel))
        return invalidArgument("Release channel " + quoted(channel) + " does not exist.");
    if (auto version = gke.resolveVersion(wanted, channel))
        return *version;
    if (wanted.find("-gke.") != std::string::npos)
        return invalidArgument("Master version " + quoted(wanted) + " is unsupported.");
    return invalidArgument("No valid versions with the prefix " + quoted(wanted) + " found.");
}

GoogleResult<std::string> checkNodeVersion(const std::string &wanted, const std::string &masterVersion,
                                           const GkeCatalog &gke)
{
    if (wanted.empty() || wanted == "-" || wanted == "latest" || wanted == masterVersion)
        return masterVersion;
    const auto version = gke.resolveVersion(wanted, {});
    if (!version)
        return invalidArgument("Node version " + quoted(wanted) + " is unsupported.");
    const auto node = GkeVersion::parse(*version);
    const auto master = GkeVersion::parse(masterVersion);
    if (!node || !master || *node > *master)
        return invalidArgument("Node version " + quoted(*version)
                               + " must not be greater than master version " + quoted(masterVersion) + ".");
    if (node->major != master->major || node->minor + 2 < master->minor)
        return invalidArgument("Node version " + quoted(*version)
                               + " must be within two minor versions of master version "
                               + quoted(masterVersion) + ".");
    return *version;
}

int hostsOfSlice(const PoolSpec &pool)
{
    if (!pool.isMultiHost || pool.tpuChipsPerNode == 0)
        return 0;
    return chipsOfTopology(pool.tpuTopology).value_or(0) / pool.tpuChipsPerNode;
}

GoogleStatus checkPlaces(const PoolRequest &request, const PoolSurroundings &surroundings,
                         const ComputeCatalog &compute)
{
    if (auto zones = checkNodeZones(surroundings.location, request.spec.zones, compute); !zones)
        return zones;
    if (auto machine = checkMachine(request, compute); !machine)
        return machine;
    return checkCompact(request);
}

GoogleStatus checkPool(const PoolRequest &request, const PoolSurroundings &surroundings,
                       const GkeCatalog &gke, const ComputeCatalog &compute)
{
    const PoolSpec &spec = request.spec;
    if (auto name = checkPoolName(spec.name); !name)
        return name;
    if (auto places = checkPlaces(request, surroundings, compute); !places)
        return places;
    if (auto disks = checkDisks(request); !disks)
        return disks;
    if (auto affinity = checkReservationAffinity(request); !affinity)
        return affinity;
    if (auto compact = checkCompactFlexStart(request); !compact)
        return compact;
    if (auto tpu = checkTpu(request, surroundings, gke); !tpu)
        return tpu;
    if (auto gpus = checkGpus(request, compute); !gpus)
        return gpus;
    if (auto provisioning = checkProvisioning(request); !provisioning)
        return provisioning;
    if (auto profile = checkNetworkProfile(request, surroundings); !profile)
        return profile;
    return spec.isAutoscaled ? checkAutoscaling(request) : GoogleStatus{};
}

GoogleStatus checkResize(const PoolSpec &pool, int perZone, bool byAutoscaler)
{
    if (perZone < 0)
        return invalidArgument("Node count must not be negative.");
    if (!pool.isMultiHost)
        return {};
    if (auto size = checkSliceSize("Node count", perZone, pool, true); !size || byAutoscaler)
        return size;
    return invalidArgument(
        "Multi-host TPU node pools can't be resized; delete the node pool and create it anew.");
}

GoogleStatus checkAutoscaling(const PoolRequest &request)
{
    const PoolSpec &spec = request.spec;
    if (request.minPerZone < 0 || request.maxPerZone < 0 || request.totalMin < 0 || request.totalMax < 0)
        return invalidArgument("Node counts of autoscaling must not be negative.");
    if (spec.maxNodes < 1 && !spec.isMultiHost)
        return invalidArgument("Maximum node count must be at least 1 when autoscaling is enabled.");
    if (spec.minNodes > spec.maxNodes && !spec.isMultiHost)
        return invalidArgument("Minimum node count " + std::to_string(spec.minNodes)
                               + " must not be greater than maximum " + std::to_string(spec.maxNodes) + ".");
    if (!spec.isMultiHost)
        return {};
    // GKE looks at the counts per zone: --total-max-nodes leaves 0 there.
    if (auto max = checkSliceSize("Maximum node count", request.maxPerZone, spec, false); !max)
        return max;
    return checkSliceSize("Minimum node count", request.minPerZone, spec, true);
}

} // namespace cluster::local
