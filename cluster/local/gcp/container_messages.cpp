#include "cluster/local/gcp/container_messages.h"

namespace cluster::local {

namespace {

using Kind = FieldShape::Kind;

constexpr FieldShape text(const char *name)
{
    return {name, Kind::Text};
}

constexpr FieldShape texts(const char *name)
{
    return {name, Kind::Text, true};
}

constexpr FieldShape flag(const char *name)
{
    return {name, Kind::Flag};
}

constexpr FieldShape int32(const char *name)
{
    return {name, Kind::Int32};
}

constexpr FieldShape int64(const char *name)
{
    return {name, Kind::Int64};
}

constexpr FieldShape textMap(const char *name)
{
    return {name, Kind::TextMap};
}

constexpr FieldShape one(const char *name, const MessageShape &message)
{
    return {name, Kind::Message, false, &message};
}

constexpr FieldShape many(const char *name, const MessageShape &message)
{
    return {name, Kind::Message, true, &message};
}

constexpr FieldShape oneOf(const char *name, const EnumShape &values)
{
    return {name, Kind::Enum, false, nullptr, &values};
}

// Enums.
constexpr const char *kPlacementTypes[] = {"TYPE_UNSPECIFIED", "COMPACT"};
constexpr EnumShape kPlacementType{"NodePool.PlacementPolicy.Type", kPlacementTypes};
constexpr const char *kEffects[] = {"EFFECT_UNSPECIFIED", "NO_SCHEDULE", "PREFER_NO_SCHEDULE", "NO_EXECUTE"};
constexpr EnumShape kEffect{"NodeTaint.Effect", kEffects};
constexpr const char *kLocationPolicies[] = {"LOCATION_POLICY_UNSPECIFIED", "BALANCED", "ANY"};
constexpr EnumShape kLocationPolicy{"NodePoolAutoscaling.LocationPolicy", kLocationPolicies};
constexpr const char *kReservationTypes[]
    = {"UNSPECIFIED", "NO_RESERVATION", "ANY_RESERVATION", "SPECIFIC_RESERVATION"};
constexpr EnumShape kReservationType{"ReservationAffinity.Type", kReservationTypes};
constexpr const char *kDriverVersions[]
    = {"GPU_DRIVER_VERSION_UNSPECIFIED", "INSTALLATION_DISABLED", "DEFAULT", "LATEST"};
constexpr EnumShape kDriverVersion{"GPUDriverInstallationConfig.GPUDriverVersion", kDriverVersions};
constexpr const char *kStrategies[] = {"NODE_POOL_UPDATE_STRATEGY_UNSPECIFIED",
                                       "ROLLING",
                                       "BLUE_GREEN",
                                       "SURGE",
                                       "SHORT_LIVED",
                                       "QUEUED_PROVISIONING"};
constexpr EnumShape kStrategy{"NodePoolUpdateStrategy", kStrategies};
constexpr const char *kMetadataModes[] = {"MODE_UNSPECIFIED", "GCE_METADATA", "GKE_METADATA"};
constexpr EnumShape kMetadataMode{"WorkloadMetadataConfig.Mode", kMetadataModes};
constexpr const char *kSecondaryModes[] = {"MODE_UNSPECIFIED", "CONTAINER_IMAGE_CACHE"};
constexpr EnumShape kSecondaryMode{"SecondaryBootDisk.Mode", kSecondaryModes};
constexpr const char *kChannels[] = {"UNSPECIFIED", "RAPID", "REGULAR", "STABLE", "EXTENDED"};
constexpr EnumShape kChannel{"ReleaseChannel.Channel", kChannels};
constexpr const char *kDatapaths[] = {"DATAPATH_PROVIDER_UNSPECIFIED", "LEGACY_DATAPATH", "ADVANCED_DATAPATH",
                                      "MIGRATE_TO_ADVANCED_DATAPATH", "MIGRATE_TO_LEGACY_DATAPATH"};
constexpr EnumShape kDatapath{"DatapathProvider", kDatapaths};
constexpr const char *kProfiles[] = {"PROFILE_UNSPECIFIED", "OPTIMIZE_UTILIZATION", "BALANCED"};
constexpr EnumShape kProfile{"ClusterAutoscaling.AutoscalingProfile", kProfiles};
constexpr const char *kStacks[] = {"STACK_TYPE_UNSPECIFIED", "IPV4", "IPV4_IPV6"};
constexpr EnumShape kStack{"StackType", kStacks};

// What is only switched on or off.
constexpr FieldShape kEnabled[] = {flag("enabled")};
constexpr FieldShape kDisabled[] = {flag("disabled")};
constexpr MessageShape kGcfs{"GcfsConfig", kEnabled};
constexpr MessageShape kGvnic{"VirtualNIC", kEnabled};
constexpr MessageShape kQueued{"NodePool.QueuedProvisioning", kEnabled};
constexpr MessageShape kAutopilot{"Autopilot", kEnabled};
constexpr MessageShape kManagedPrometheus{"ManagedPrometheusConfig", kEnabled};
constexpr MessageShape kVerticalAutoscaling{"VerticalPodAutoscaling", kEnabled};
constexpr MessageShape kShieldedNodes{"ShieldedNodes", kEnabled};
constexpr MessageShape kCostManagement{"CostManagementConfig", kEnabled};
constexpr MessageShape kHttpLoadBalancing{"HttpLoadBalancing", kDisabled};
constexpr MessageShape kPodAutoscaling{"HorizontalPodAutoscaling", kDisabled};
constexpr MessageShape kDashboard{"KubernetesDashboard", kDisabled};
constexpr MessageShape kNetworkPolicy{"NetworkPolicyConfig", kDisabled};
constexpr MessageShape kDnsCache{"DnsCacheConfig", kEnabled};
constexpr MessageShape kDiskDriver{"GcePersistentDiskCsiDriverConfig", kEnabled};
constexpr MessageShape kFilestoreDriver{"GcpFilestoreCsiDriverConfig", kEnabled};
constexpr MessageShape kFuseDriver{"GcsFuseCsiDriverConfig", kEnabled};
constexpr MessageShape kParallelstoreDriver{"ParallelstoreCsiDriverConfig", kEnabled};
constexpr MessageShape kRayOperator{"RayOperatorConfig", kEnabled};
constexpr MessageShape kStatefulHa{"StatefulHAConfig", kEnabled};

// A node pool.
constexpr FieldShape kMaxPodsFields[] = {int64("maxPodsPerNode")};
constexpr MessageShape kMaxPods{"MaxPodsConstraint", kMaxPodsFields};
constexpr FieldShape kManagementFields[] = {flag("autoRepair"), flag("autoUpgrade")};
constexpr MessageShape kManagement{"NodeManagement", kManagementFields};
constexpr FieldShape kAutoscalingFields[] = {flag("enabled"),
                                             flag("autoprovisioned"),
                                             int32("minNodeCount"),
                                             int32("maxNodeCount"),
                                             int32("totalMinNodeCount"),
                                             int32("totalMaxNodeCount"),
                                             oneOf("locationPolicy", kLocationPolicy)};
constexpr MessageShape kAutoscaling{"NodePoolAutoscaling", kAutoscalingFields};
constexpr FieldShape kPlacementFields[]
    = {oneOf("type", kPlacementType), text("tpuTopology"), text("policyName")};
constexpr MessageShape kPlacement{"NodePool.PlacementPolicy", kPlacementFields};
constexpr FieldShape kUpgradeFields[]
    = {int32("maxSurge"), int32("maxUnavailable"), oneOf("strategy", kStrategy)};
constexpr MessageShape kUpgrade{"NodePool.UpgradeSettings", kUpgradeFields};
constexpr FieldShape kNodeNetworkFields[]
    = {text("acceleratorNetworkProfile"), text("podIpv4CidrBlock"), text("podRange"), flag("createPodRange"),
       flag("enablePrivateNodes")};
constexpr MessageShape kNodeNetwork{"NodeNetworkConfig", kNodeNetworkFields};
constexpr FieldShape kTaintFields[] = {text("key"), text("value"), oneOf("effect", kEffect)};
constexpr MessageShape kTaint{"NodeTaint", kTaintFields};
constexpr FieldShape kDriverFields[] = {oneOf("gpuDriverVersion", kDriverVersion)};
constexpr MessageShape kDriver{"GPUDriverInstallationConfig", kDriverFields};
constexpr FieldShape kAcceleratorFields[]
    = {text("acceleratorType"), int64("acceleratorCount"), text("gpuPartitionSize"),
       one("gpuDriverInstallationConfig", kDriver)};
constexpr MessageShape kAccelerator{"AcceleratorConfig", kAcceleratorFields};
constexpr FieldShape kReservationFields[]
    = {oneOf("consumeReservationType", kReservationType), text("key"), texts("values")};
constexpr MessageShape kReservation{"ReservationAffinity", kReservationFields};
constexpr FieldShape kLocalSsdFields[] = {int32("localSsdCount"), int32("dataCacheCount")};
constexpr MessageShape kLocalSsd{"EphemeralStorageLocalSsdConfig", kLocalSsdFields};
constexpr FieldShape kMetadataFields[] = {oneOf("mode", kMetadataMode)};
constexpr MessageShape kMetadata{"WorkloadMetadataConfig", kMetadataFields};
constexpr FieldShape kSecondaryFields[] = {text("diskImage"), oneOf("mode", kSecondaryMode)};
constexpr MessageShape kSecondary{"SecondaryBootDisk", kSecondaryFields};
constexpr FieldShape kConfigFields[] = {text("machineType"),
                                        text("imageType"),
                                        text("diskType"),
                                        int32("diskSizeGb"),
                                        int32("localSsdCount"),
                                        one("ephemeralStorageLocalSsdConfig", kLocalSsd),
                                        textMap("labels"),
                                        textMap("metadata"),
                                        textMap("resourceLabels"),
                                        many("taints", kTaint),
                                        texts("tags"),
                                        texts("oauthScopes"),
                                        text("serviceAccount"),
                                        text("computeClass"),
                                        many("accelerators", kAccelerator),
                                        flag("spot"),
                                        flag("preemptible"),
                                        flag("flexStart"),
                                        {"maxRunDuration", Kind::Duration},
                                        one("reservationAffinity", kReservation),
                                        one("workloadMetadataConfig", kMetadata),
                                        one("gcfsConfig", kGcfs),
                                        one("gvnic", kGvnic),
                                        many("secondaryBootDisks", kSecondary)};
constexpr MessageShape kConfig{"NodeConfig", kConfigFields};
constexpr FieldShape kPoolFields[] = {text("name"),
                                      text("version"),
                                      int32("initialNodeCount"),
                                      texts("locations"),
                                      one("config", kConfig),
                                      one("autoscaling", kAutoscaling),
                                      one("management", kManagement),
                                      one("maxPodsConstraint", kMaxPods),
                                      one("networkConfig", kNodeNetwork),
                                      one("placementPolicy", kPlacement),
                                      one("queuedProvisioning", kQueued),
                                      one("upgradeSettings", kUpgrade)};
constexpr MessageShape kPool{"NodePool", kPoolFields};

// A cluster.
constexpr FieldShape kAddonsFields[] = {one("httpLoadBalancing", kHttpLoadBalancing),
                                        one("horizontalPodAutoscaling", kPodAutoscaling),
                                        one("kubernetesDashboard", kDashboard),
                                        one("networkPolicyConfig", kNetworkPolicy),
                                        one("dnsCacheConfig", kDnsCache),
                                        one("gcePersistentDiskCsiDriverConfig", kDiskDriver),
                                        one("gcpFilestoreCsiDriverConfig", kFilestoreDriver),
                                        one("gcsFuseCsiDriverConfig", kFuseDriver),
                                        one("parallelstoreCsiDriverConfig", kParallelstoreDriver),
                                        one("rayOperatorConfig", kRayOperator),
                                        one("statefulHaConfig", kStatefulHa)};
constexpr MessageShape kAddons{"AddonsConfig", kAddonsFields};
constexpr FieldShape kChannelFields[] = {oneOf("channel", kChannel)};
constexpr MessageShape kReleaseChannel{"ReleaseChannel", kChannelFields};
constexpr FieldShape kWorkloadFields[] = {text("workloadPool")};
constexpr MessageShape kWorkloadIdentity{"WorkloadIdentityConfig", kWorkloadFields};
constexpr FieldShape kNetworkFields[] = {oneOf("datapathProvider", kDatapath), text("network"),
                                         text("subnetwork"), flag("enableMultiNetworking")};
constexpr MessageShape kNetwork{"NetworkConfig", kNetworkFields};
constexpr FieldShape kAllocationFields[] = {flag("useIpAliases"),
                                            flag("createSubnetwork"),
                                            text("clusterIpv4Cidr"),
                                            text("clusterIpv4CidrBlock"),
                                            text("nodeIpv4Cidr"),
                                            text("nodeIpv4CidrBlock"),
                                            text("servicesIpv4Cidr"),
                                            text("servicesIpv4CidrBlock"),
                                            text("clusterSecondaryRangeName"),
                                            text("servicesSecondaryRangeName"),
                                            text("subnetworkName"),
                                            oneOf("stackType", kStack)};
constexpr MessageShape kAllocation{"IPAllocationPolicy", kAllocationFields};
constexpr FieldShape kProvisioningFields[]
    = {flag("enableNodeAutoprovisioning"), oneOf("autoscalingProfile", kProfile),
       texts("autoprovisioningLocations")};
constexpr MessageShape kProvisioning{"ClusterAutoscaling", kProvisioningFields};
constexpr FieldShape kMonitoringFields[] = {one("managedPrometheusConfig", kManagedPrometheus)};
constexpr MessageShape kMonitoring{"MonitoringConfig", kMonitoringFields};
constexpr MessageShape kLogging{"LoggingConfig", {}};
constexpr FieldShape kClusterFields[] = {text("name"),
                                         text("description"),
                                         text("network"),
                                         text("subnetwork"),
                                         text("clusterIpv4Cidr"),
                                         text("servicesIpv4Cidr"),
                                         text("initialClusterVersion"),
                                         text("loggingService"),
                                         text("monitoringService"),
                                         int32("initialNodeCount"),
                                         one("nodeConfig", kConfig),
                                         many("nodePools", kPool),
                                         texts("locations"),
                                         textMap("resourceLabels"),
                                         one("addonsConfig", kAddons),
                                         one("autopilot", kAutopilot),
                                         one("autoscaling", kProvisioning),
                                         one("defaultMaxPodsConstraint", kMaxPods),
                                         one("ipAllocationPolicy", kAllocation),
                                         one("loggingConfig", kLogging),
                                         one("monitoringConfig", kMonitoring),
                                         one("networkConfig", kNetwork),
                                         one("releaseChannel", kReleaseChannel),
                                         one("shieldedNodes", kShieldedNodes),
                                         one("verticalPodAutoscaling", kVerticalAutoscaling),
                                         one("workloadIdentityConfig", kWorkloadIdentity)};
constexpr MessageShape kCluster{"Cluster", kClusterFields};
constexpr FieldShape kUpdateFields[] = {one("desiredAddonsConfig", kAddons),
                                        one("desiredWorkloadIdentityConfig", kWorkloadIdentity),
                                        one("desiredMonitoringConfig", kMonitoring),
                                        one("desiredLoggingConfig", kLogging),
                                        text("desiredMonitoringService"),
                                        text("desiredLoggingService"),
                                        one("desiredReleaseChannel", kReleaseChannel),
                                        one("desiredVerticalPodAutoscaling", kVerticalAutoscaling),
                                        one("desiredClusterAutoscaling", kProvisioning),
                                        one("desiredShieldedNodes", kShieldedNodes),
                                        one("desiredCostManagementConfig", kCostManagement),
                                        oneOf("desiredDatapathProvider", kDatapath),
                                        texts("desiredLocations"),
                                        text("desiredMasterVersion"),
                                        text("desiredNodeVersion"),
                                        text("desiredNodePoolId"),
                                        text("desiredImageType"),
                                        one("desiredNodePoolAutoscaling", kAutoscaling)};
constexpr MessageShape kUpdate{"ClusterUpdate", kUpdateFields};

// Requests.
constexpr FieldShape kCreateClusterFields[] = {one("cluster", kCluster)};
constexpr FieldShape kUpdateClusterFields[] = {one("update", kUpdate)};
constexpr FieldShape kSetAddonsFields[] = {one("addonsConfig", kAddons)};
constexpr FieldShape kSetLabelsFields[] = {textMap("resourceLabels"), text("labelFingerprint")};
constexpr FieldShape kSetLocationsFields[] = {texts("locations")};
constexpr FieldShape kUpdateMasterFields[] = {text("masterVersion")};
constexpr FieldShape kCreatePoolFields[] = {one("nodePool", kPool)};
constexpr FieldShape kLabelsFields[] = {textMap("labels")};
constexpr MessageShape kNodeLabels{"NodeLabels", kLabelsFields};
constexpr MessageShape kResourceLabels{"ResourceLabels", kLabelsFields};
constexpr FieldShape kTaintsFields[] = {many("taints", kTaint)};
constexpr MessageShape kNodeTaints{"NodeTaints", kTaintsFields};
constexpr FieldShape kTagsFields[] = {texts("tags")};
constexpr MessageShape kTags{"NetworkTags", kTagsFields};
constexpr MessageShape kKubelet{"NodeKubeletConfig", {}};
constexpr MessageShape kLinux{"LinuxNodeConfig", {}};
constexpr MessageShape kPoolLogging{"NodePoolLoggingConfig", {}};
constexpr FieldShape kUpdatePoolFields[] = {text("nodeVersion"),
                                            text("imageType"),
                                            text("machineType"),
                                            text("diskType"),
                                            int64("diskSizeGb"),
                                            texts("locations"),
                                            one("labels", kNodeLabels),
                                            one("resourceLabels", kResourceLabels),
                                            one("taints", kNodeTaints),
                                            one("tags", kTags),
                                            many("accelerators", kAccelerator),
                                            one("workloadMetadataConfig", kMetadata),
                                            one("gvnic", kGvnic),
                                            one("gcfsConfig", kGcfs),
                                            one("kubeletConfig", kKubelet),
                                            one("linuxNodeConfig", kLinux),
                                            one("loggingConfig", kPoolLogging),
                                            one("upgradeSettings", kUpgrade),
                                            one("nodeNetworkConfig", kNodeNetwork)};
constexpr FieldShape kSetSizeFields[] = {int32("nodeCount")};
constexpr FieldShape kSetAutoscalingFields[] = {one("autoscaling", kAutoscaling)};
constexpr FieldShape kSetManagementFields[] = {one("management", kManagement)};

} // namespace

const MessageShape kCreateClusterRequest{"CreateClusterRequest", kCreateClusterFields};
const MessageShape kUpdateClusterRequest{"UpdateClusterRequest", kUpdateClusterFields};
const MessageShape kSetAddonsRequest{"SetAddonsConfigRequest", kSetAddonsFields};
const MessageShape kSetLabelsRequest{"SetLabelsRequest", kSetLabelsFields};
const MessageShape kSetLocationsRequest{"SetLocationsRequest", kSetLocationsFields};
const MessageShape kUpdateMasterRequest{"UpdateMasterRequest", kUpdateMasterFields};
const MessageShape kCreateNodePoolRequest{"CreateNodePoolRequest", kCreatePoolFields};
const MessageShape kUpdateNodePoolRequest{"UpdateNodePoolRequest", kUpdatePoolFields};
const MessageShape kSetSizeRequest{"SetNodePoolSizeRequest", kSetSizeFields};
const MessageShape kSetAutoscalingRequest{"SetNodePoolAutoscalingRequest", kSetAutoscalingFields};
const MessageShape kSetManagementRequest{"SetNodePoolManagementRequest", kSetManagementFields};

} // namespace cluster::local
