#include "cluster/local/gcp/placement_rules.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cluster::local {

namespace {

constexpr const char *kReservationName = "compute.googleapis.com/reservation-name";

/// A3 Ultra, A4, H4D: machines that flex start can place compactly.
constexpr std::array<std::string_view, 3> kCompactFlexStart{"a3-ultragpu-", "a4-highgpu-", "h4d-"};
/// v6e, A3 High and Mega, A3 Ultra, A4, A4X, A4X Max: accelerators that GKE makes networks for.
constexpr std::array<std::string_view, 7> kProfileMachines{"ct6e-standard-", "a3-highgpu-8g", "a3-megagpu-",
                                                           "a3-ultragpu-",   "a4-highgpu-",   "a4x-highgpu-",
                                                           "a4x-maxgpu-"};

template<std::size_t Count>
bool isOneOf(const std::array<std::string_view, Count> &prefixes, std::string_view machineType)
{
    return std::ranges::any_of(prefixes,
                               [&](std::string_view prefix) { return machineType.starts_with(prefix); });
}

GoogleStatus checkSlicePolicy(const PoolRequest &request, const ResourcePolicy &policy)
{
    const PoolSpec &spec = request.spec;
    if (!policy.isWorkload || request.isCompact)
        return wantsWorkloadPolicy(spec.machineType);
    if (!spec.isMultiHost)
        return invalidArgument(
            "Workload policy " + quoted(policy.name)
            + " can't be specified with single-host TPU slice pool; please remove the placement "
              "policy from the node pool creation request.");
    if (policy.type != "HIGH_THROUGHPUT")
        return invalidArgument("Workload policy " + quoted(policy.name) + " of type " + quoted(policy.type)
                               + " can't place a TPU slice; its type must be \"HIGH_THROUGHPUT\".");
    if (policy.topology != spec.tpuTopology)
        return invalidArgument("TPU topology " + quoted(spec.tpuTopology)
                               + " does not match accelerator topology " + quoted(policy.topology)
                               + " of workload policy " + quoted(policy.name) + ".");
    return {};
}

} // namespace

GoogleStatus checkCompact(const PoolRequest &request)
{
    const PoolSpec &spec = request.spec;
    if (!request.isCompact && request.placementPolicy.empty())
        return {};
    if (spec.zones.size() != 1)
        return invalidArgument(
            "Compact placement requires a node pool in exactly one zone; set the node pool's "
            "locations.");
    if (request.upgradeStrategy == "BLUE_GREEN")
        return invalidArgument(
            "Blue-green upgrades are not supported for node pools with compact placement.");
    return {};
}

GoogleStatus checkCompactFlexStart(const PoolRequest &request)
{
    const std::string &machineType = request.spec.machineType;
    if (!request.isFlexStart || !request.isCompact || isOneOf(kCompactFlexStart, machineType))
        return {};
    return invalidArgument("Flex start can't be combined with compact placement for machine type "
                           + quoted(machineType) + "; only A3 Ultra, A4 and H4D support both.");
}

tl::unexpected<GoogleError> wantsWorkloadPolicy(const std::string &machineType)
{
    return invalidArgument(
        "Google Compute Engine: Creation of a managed instance group with " + machineType
        + " machine type with placement policy is not supported. Use workload policy instead.");
}

GoogleStatus checkPolicy(const PoolRequest &request, const std::optional<ResourcePolicy> &policy,
                         const std::string &project, const GkeCatalog &gke)
{
    const PoolSpec &spec = request.spec;
    if (request.placementPolicy.empty())
        return {};
    if (!policy)
        return googleFail(ErrorCode::NotFound,
                          "Google Compute Engine: The resource 'projects/" + project + "/regions/"
                              + regionOfZone(spec.zones.front()) + "/resourcePolicies/"
                              + request.placementPolicy + "' was not found.");
    const TpuFamily *family = gke.tpuFamily(spec.machineType);
    if (!family)
        return {};
    if (family->wantsWorkloadPolicy)
        return checkSlicePolicy(request, *policy);
    // Compute Engine takes a policy made by hand for calendar reservations only; GKE makes slices' own.
    return invalidArgument(
        "Google Compute Engine: Required field 'resource.requestedRunDuration' not specified.");
}

GoogleStatus checkReservationAffinity(const PoolRequest &request)
{
    if (!request.usesReservation)
        return {};
    if (request.reservationKey != kReservationName || request.reservations.size() != 1)
        return invalidArgument("Reservation affinity SPECIFIC_RESERVATION requires key "
                               + quoted(kReservationName) + " and exactly one reservation in values.");
    return {};
}

GoogleStatus checkReservation(const PoolRequest &request, const std::string &zone,
                              const std::optional<Reservation> &reservation, int used)
{
    const PoolSpec &spec = request.spec;
    if (!reservation)
        return googleFail(ErrorCode::NotFound,
                          "Google Compute Engine: reservation " + quoted(spec.reservationName)
                              + " not found for node pool " + quoted(spec.name) + " at zone " + quoted(zone)
                              + ".");
    const int wanted = request.initialNodeCount.value_or(0);
    const int free
        = reservation->machineType == spec.machineType ? std::max(0, reservation->count - used) : 0;
    if (wanted <= free)
        return {};
    return googleFail(ErrorCode::ResourceExhausted,
                      "Reservation does not have enough resources for the request: specific reservation "
                          + quoted(spec.reservationName) + " is insufficient for node pool "
                          + quoted(spec.name) + " at zone " + quoted(zone) + ": required "
                          + std::to_string(wanted) + " and short of " + std::to_string(wanted - free)
                          + " VM count of machine type " + spec.machineType + ".");
}

GoogleStatus checkNetworkProfile(const PoolRequest &request, const PoolSurroundings &surroundings)
{
    const PoolSpec &spec = request.spec;
    if (spec.acceleratorNetworkProfile.empty())
        return {};
    if (spec.acceleratorNetworkProfile != "auto")
        return invalidArgument("Accelerator network profile " + quoted(spec.acceleratorNetworkProfile)
                               + " is not supported; the only profile is \"auto\".");
    if (!surroundings.dataplaneV2)
        return invalidArgument(
            "Accelerator network profile requires GKE Dataplane V2 (network_config."
            "datapath_provider ADVANCED_DATAPATH), which is chosen when the cluster is created.");
    if (spec.zones.size() != 1)
        return invalidArgument("Accelerator network profile requires a node pool in exactly one zone.");
    if (!isOneOf(kProfileMachines, spec.machineType))
        return invalidArgument("Accelerator network profile is not supported for machine type "
                               + quoted(spec.machineType) + ".");
    return {};
}

GoogleStatus checkDisks(const PoolRequest &request)
{
    const PoolSpec &spec = request.spec;
    const bool isHyperdisk = spec.diskType.starts_with("hyperdisk-");
    if (isHyperdisk && spec.diskType != "hyperdisk-balanced")
        return invalidArgument("Disk type " + quoted(spec.diskType)
                               + " can't be used as a boot disk; use \"hyperdisk-balanced\".");
    if (!isHyperdisk && takesHyperdiskOnly(spec.machineType))
        return invalidArgument("Google Compute Engine: [" + spec.diskType + ", " + spec.machineType
                               + "] features are not compatible for creating instance.");
    if (request.secondaryBootDisks > 1)
        return invalidArgument("At most one secondary boot disk can be specified.");
    if (request.secondaryBootDisks == 1 && !request.streamsImages)
        return invalidArgument("Secondary boot disks require image streaming (gcfs_config.enabled).");
    return {};
}

} // namespace cluster::local
