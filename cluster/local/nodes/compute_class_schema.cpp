#include "cluster/local/nodes/compute_class_schema.h"

#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

Json parsed(const char *text)
{
    return Json::parse(text);
}

Json location()
{
    return parsed(R"({"type":"object","properties":{
        "locationPolicy":{"type":"string","enum":["ANY","BALANCED"]},
        "zoneTypes":{"type":"array","minItems":1,"maxItems":3,
            "items":{"type":"string","enum":["STANDARD","AI","CLUSTER_DEFAULT"]}},
        "zones":{"type":"array","minItems":1,"items":{"type":"string"}}}})");
}

Json taints()
{
    return parsed(R"({"type":"array","maxItems":100,"items":{"type":"object","required":["effect","key"],
        "properties":{
            "effect":{"type":"string","enum":["NoSchedule","PreferNoSchedule","NoExecute"]},
            "key":{"type":"string","maxLength":320},
            "value":{"type":"string","maxLength":63,
                "pattern":"^([a-z0-9][-A-Za-z0-9_.]{1,61})?[A-Za-z0-9]$"}}}})");
}

Json labels()
{
    return parsed(R"({"type":"object","maxProperties":100,"additionalProperties":{"type":"string"}})");
}

Json instanceMetadata()
{
    return parsed(R"j({"type":"object","maxProperties":32,"additionalProperties":{"type":"string"},
        "x-kubernetes-validations":[
        {"message":"Metadata keys must be alphanumeric with dashes/underscores and less than 128 characters",
         "rule":"self.all(k, k.matches('^[a-zA-Z0-9_-]+$') && size(k) < 128)"},
        {"message":"Metadata values cannot exceed 32768 characters",
         "rule":"self.all(k, size(self[k]) <= 32768)"},
        {"message":"Reserved metadata keys are not allowed",
         "rule":"self.all(k, !(k in ['cluster-location', 'cluster-name', 'cluster-uid', 'configure-sh', 'containerd-configure-sh', 'enable-os-login', 'gci-ensure-gke-docker', 'gci-metrics-enabled', 'gci-update-strategy', 'instance-template', 'kube-env', 'startup-script', 'user-data', 'disable-address-manager', 'windows-startup-script-ps1', 'common-psm1', 'k8s-node-setup-psm1', 'install-ssh-psm1', 'user-profile-psm1']))"}]})j");
}

/// Kernel and kubelet tuning: only what a rule of the class asks for is known here.
Json nodeSystemConfig()
{
    return parsed(R"j({"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{
        "kubeletConfig":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{
            "shutdownGracePeriodSeconds":{"type":"integer","format":"int32","enum":[0,30,120]},
            "shutdownGracePeriodCriticalPodsSeconds":{"type":"integer","format":"int32","minimum":0,
                "maximum":120}},
        "x-kubernetes-validations":[
        {"message":"ShutdownGracePeriodCriticalPodsSeconds must be less than or equal to ShutdownGracePeriodSeconds and requires ShutdownGracePeriodSeconds to be set",
         "rule":"!has(self.shutdownGracePeriodCriticalPodsSeconds) || (has(self.shutdownGracePeriodSeconds) && self.shutdownGracePeriodCriticalPodsSeconds <= self.shutdownGracePeriodSeconds)"}]},
        "linuxNodeConfig":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}})j");
}

Json storage()
{
    return parsed(R"j({"type":"object","properties":{
        "bootDiskKMSKey":{"type":"string",
            "pattern":"projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+"},
        "bootDiskProvisionedIops":{"type":"integer","format":"int64","minimum":2000,"maximum":160000},
        "bootDiskProvisionedThroughput":{"type":"integer","format":"int64","minimum":140,"maximum":2400},
        "bootDiskSize":{"type":"integer","minimum":10},
        "bootDiskStoragePools":{"type":"array","minItems":1,"items":{"type":"string",
            "pattern":"^projects/[a-z0-9-]+/zones/[a-z0-9-]+/storagePools/[a-z0-9-]+$"}},
        "bootDiskType":{"type":"string","enum":["pd-balanced","pd-standard","pd-ssd","hyperdisk-balanced"]},
        "localSSDCount":{"type":"integer","minimum":1},
        "secondaryBootDisks":{"type":"array","items":{"type":"object","required":["diskImageName"],
            "properties":{"diskImageName":{"type":"string"},"project":{"type":"string"},
                "mode":{"type":"string","enum":["MODE_UNSPECIFIED","CONTAINER_IMAGE_CACHE"]}}}}},
        "x-kubernetes-validations":[
        {"message":"bootDiskStoragePools requires bootDiskType to be 'hyperdisk-balanced' or omitted",
         "rule":"!has(self.bootDiskStoragePools) || !has(self.bootDiskType) || self.bootDiskType == 'hyperdisk-balanced'"},
        {"message":"bootDiskProvisionedIops and bootDiskProvisionedThroughput must be specified together on a Hyperdisk bootDiskType",
         "rule":"has(self.bootDiskProvisionedIops) == has(self.bootDiskProvisionedThroughput) && (!has(self.bootDiskProvisionedIops) || (has(self.bootDiskType) && self.bootDiskType == 'hyperdisk-balanced'))"}]})j");
}

Json reservations()
{
    return parsed(R"j({"type":"object","required":["affinity"],"properties":{
        "affinity":{"type":"string","enum":["Specific","AnyBestEffort","None","AnyThenFail"]},
        "specific":{"type":"array","minItems":0,"items":{"type":"object","required":["name"],"properties":{
            "name":{"type":"string"},"project":{"type":"string"},
            "reservationBlock":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},
                "reservationSubBlock":{"type":"object","required":["name"],
                    "properties":{"name":{"type":"string"}}}}},
            "zones":{"type":"array","minItems":1,"items":{"type":"string"}}}}}},
        "x-kubernetes-validations":[
        {"message":"Unable to set specific reservations for non specific affinity",
         "rule":"has(self.specific) && self.specific.size() > 0 ? self.affinity == \"Specific\" : true"},
        {"message":"At least 1 specific reservation required for specific affinity",
         "rule":"self.affinity == \"Specific\" ? has(self.specific) && self.specific.size() > 0 : true"}]})j");
}

Json accelerators()
{
    return parsed(R"j({
        "gpu":{"type":"object","properties":{
            "count":{"type":"integer","format":"int64","minimum":0},
            "driverVersion":{"type":"string","default":"default",
                "enum":["default","latest","autoinstall-disabled"]},
            "gpuSharing":{"type":"object","properties":{"gpuPartitionSize":{"type":"string"},
                "maxSharedClientsPerGPU":{"type":"integer","format":"int64","minimum":0},
                "sharingStrategy":{"type":"string","enum":["MPS","TIME_SHARING"]}}},
            "topology":{"type":"string"},"type":{"type":"string"}}},
        "gpuDirect":{"type":"string","x-kubernetes-validations":[
            {"message":"gpuDirect must be 'rdma'","rule":"self == 'rdma'"}]},
        "tpu":{"type":"object","properties":{"count":{"type":"integer","format":"int64"},
            "topology":{"type":"string"},"type":{"type":"string"}}},
        "acceleratorNetworkProfile":{"type":"string","maxLength":63,"x-kubernetes-validations":[
            {"message":"acceleratorNetworkProfile must be a valid resource ID up to 63 characters (lowercase letters, numbers, hyphens)",
             "rule":"self.matches('^[a-z]([a-z0-9-]*[a-z0-9])?$') && size(self) <= 63"}]}})j");
}

Json priority()
{
    Json fields = parsed(R"j({
        "allocationStrategy":{"type":"string","enum":["lowest-cost","fleet-efficiency"]},
        "capacityCheckWaitTimeSeconds":{"type":"integer","minimum":1,"maximum":86400},
        "enableNestedVirtualization":{"type":"boolean"},
        "flexStart":{"type":"object","required":["enabled"],"properties":{
            "enabled":{"type":"boolean","default":false},
            "nodeRecycling":{"type":"object","required":["leadTimeSeconds"],"properties":{
                "leadTimeSeconds":{"type":"integer","minimum":1,"maximum":604800}}}}},
        "machineFamily":{"type":"string","maxLength":10},
        "machineType":{"type":"string","maxLength":100},
        "maxPodsPerNode":{"type":"integer","minimum":8,"maximum":256},
        "maxRunDurationSeconds":{"type":"integer"},
        "minCores":{"type":"integer","minimum":0},
        "minCpuPlatform":{"type":"string","enum":["Intel Sandy Bridge","Intel Ivy Bridge","Intel Haswell",
            "Intel Broadwell","Intel Skylake","Intel Cascade Lake","Intel Ice Lake","Intel Sapphire Rapids",
            "Intel Emerald Rapids","Intel Granite Rapids","AMD Rome","AMD Milan","AMD Genoa","AMD Turin",
            "Ampere Altra","Google Axion","Nvidia Grace"]},
        "minMemoryGb":{"type":"integer","minimum":0},
        "minimumCapacity":{"type":"object","properties":{"targetNodeCount":{"type":"integer"}}},
        "nodepools":{"type":"array","items":{"type":"string"}},
        "placement":{"type":"object","required":["policyName"],
            "properties":{"policyName":{"type":"string","minLength":1}}},
        "podFamily":{"type":"string","enum":["general-purpose","general-purpose-arm"]},
        "priorityScore":{"type":"integer","minimum":1,"maximum":1000},
        "spot":{"type":"boolean"}})j");
    fields.update(accelerators());
    fields["instanceMetadata"] = instanceMetadata();
    fields["location"] = location();
    fields["nodeLabels"] = labels();
    fields["nodeSystemConfig"] = nodeSystemConfig();
    fields["reservations"] = reservations();
    fields["storage"] = storage();
    fields["taints"] = taints();
    return Json{{"type", "object"},
                {"minProperties", 1},
                {"properties", std::move(fields)},
                {"x-kubernetes-validations", computeClassPriorityRules()}};
}

Json drainConfig()
{
    return parsed(R"j({"type":"object","properties":{
        "graceTerminationDuration":{"type":"string","pattern":"^[0-9]+(\\.[0-9]{1,9})?s$",
        "x-kubernetes-validations":[
        {"message":"Graceful termination duration must be a non-negative duration",
         "rule":"duration(self) >= duration('0s')"},
        {"message":"Graceful termination duration must be less than or equal to 24h",
         "rule":"duration(self) <= duration('24h')"}]},
        "pdbTimeoutDuration":{"type":"string","pattern":"^[0-9]+(\\.[0-9]{1,9})?s$",
        "x-kubernetes-validations":[
        {"message":"PDB timeout duration must be a non-negative duration",
         "rule":"duration(self) >= duration('0s')"},
        {"message":"PDB timeout duration must be less than or equal to 168h",
         "rule":"duration(self) <= duration('168h')"}]},
        "respectPdbDuringNodePoolDeletion":{"type":"boolean"}}})j");
}

Json nodePoolConfig()
{
    Json fields = parsed(R"j({
        "autoRepair":{"type":"boolean"},"autoUpgrade":{"type":"boolean"},
        "confidentialNodeType":{"type":"string",
            "enum":["CONFIDENTIAL_INSTANCE_TYPE_UNSPECIFIED","SEV","SEV_SNP","TDX"]},
        "customImageConfig":{"type":"object","required":["imageName","imageProjectId"],
            "properties":{"imageName":{"type":"string"},"imageProjectId":{"type":"string"}}},
        "dra":{"type":"object","properties":{"networking":{"type":"object","properties":{
            "enabled":{"type":"boolean","default":false}}}}},
        "gvnic":{"type":"object","required":["enabled"],
            "properties":{"enabled":{"type":"boolean","default":false}}},
        "imageStreaming":{"type":"object","required":["enabled"],
            "properties":{"enabled":{"type":"boolean","default":false}}},
        "imageType":{"type":"string","enum":["cos_containerd","ubuntu_containerd","custom_containerd"]},
        "ipType":{"type":"string","enum":["public","private"]},
        "loggingConfig":{"type":"object","properties":{"loggingVariantConfig":{"type":"object","properties":{
            "variant":{"type":"string","enum":["DEFAULT","MAX_THROUGHPUT"]}}}}},
        "maintenanceExclusion":{"type":"string"},"nodeVersion":{"type":"string"},
        "resourceManagerTags":{"type":"array","maxItems":5,"items":{"type":"object",
            "required":["key","value"],"properties":{"key":{"type":"string"},"value":{"type":"string"}}}},
        "sandbox":{"type":"object","properties":{"type":{"type":"string","enum":["gvisor","microvm"]}}},
        "serviceAccount":{"type":"string"},
        "taintConfig":{"type":"object","properties":{
            "architectureTaintBehavior":{"type":"string","enum":["NONE","ARM"]}}},
        "tpu":{"type":"object","properties":{"driverMode":{"type":"string","default":"DevicePlugin",
            "enum":["DevicePlugin","DynamicResourceAllocation"]}}},
        "workloadMetadata":{"type":"string","enum":["GCE_METADATA","GKE_METADATA"]},
        "workloadType":{"type":"string","enum":["HIGH_AVAILABILITY","HIGH_THROUGHPUT"]}})j");
    fields["instanceMetadata"] = instanceMetadata();
    fields["nodeDrainConfig"] = drainConfig();
    fields["nodeLabels"] = labels();
    fields["taints"] = taints();
    Json rules = parsed(R"j([
        {"message":"customImageConfig must be specified when imageType is custom_containerd",
         "rule":"has(self.imageType) && self.imageType == 'custom_containerd' ? has(self.customImageConfig) : true"},
        {"message":"customImageConfig can only be set when imageType is custom_containerd",
         "rule":"has(self.customImageConfig) ? has(self.imageType) && self.imageType == 'custom_containerd' : true"}])j");
    return Json{{"type", "object"},
                {"properties", std::move(fields)},
                {"x-kubernetes-validations", std::move(rules)}};
}

Json priorityDefaults()
{
    return Json{{"type", "object"},
                {"properties",
                 {{"enableNestedVirtualization", {{"type", "boolean"}}},
                  {"location", location()},
                  {"nodeSystemConfig", nodeSystemConfig()}}}};
}

Json conditions()
{
    return parsed(R"({"type":"array","items":{"type":"object",
        "required":["lastTransitionTime","message","reason","status","type"],"properties":{
        "lastTransitionTime":{"type":"string","format":"date-time"},
        "message":{"type":"string","maxLength":32768},
        "observedGeneration":{"type":"integer","format":"int64","minimum":0},
        "reason":{"type":"string","minLength":1,"maxLength":1024},
        "status":{"type":"string","enum":["True","False","Unknown"]},
        "type":{"type":"string","maxLength":316}}}})");
}

} // namespace

Json computeClassSpecSchema()
{
    Json fields = parsed(R"j({
        "activeMigration":{"type":"object","required":["optimizeRulePriority"],"properties":{
            "ensureAllDaemonSetPodsRunning":{"type":"boolean"},
            "optimizeRulePriority":{"type":"boolean","default":false}}},
        "allocationStrategyDefaults":{"type":"object","properties":{
            "flexStart":{"type":"string","enum":["lowest-cost","fleet-efficiency"]},
            "onDemand":{"type":"string","enum":["lowest-cost","fleet-efficiency"]},
            "spot":{"type":"string","enum":["lowest-cost","fleet-efficiency"]}}},
        "autopilot":{"type":"object","required":["enabled"],"properties":{"enabled":{"type":"boolean",
            "default":false,"x-kubernetes-validations":[
            {"message":"Autopilot is immutable","rule":"self == oldSelf"}]}},
            "x-kubernetes-validations":[{"message":"Autopilot is immutable","rule":"self == oldSelf"}]},
        "autoscalingPolicy":{"type":"object","properties":{
            "consolidationDelayMinutes":{"type":"integer","minimum":1,"maximum":1440},
            "consolidationThreshold":{"type":"integer","minimum":0,"maximum":100},
            "gpuConsolidationThreshold":{"type":"integer","minimum":0,"maximum":100}}},
        "description":{"type":"string"},
        "minimumCapacity":{"type":"object","properties":{"targetNodeCount":{"type":"integer"}}},
        "nodePoolAutoCreation":{"type":"object","required":["enabled"],"default":{"enabled":false},
            "properties":{"enabled":{"type":"boolean","default":false},
            "dynamicBootDiskSize":{"type":"boolean"},"dynamicMaxPodsPerNode":{"type":"boolean"},
            "shieldedInstanceConfig":{"type":"object","properties":{
                "enableIntegrityMonitoring":{"type":"boolean","default":true},
                "enableSecureBoot":{"type":"boolean","default":false}}}}},
        "nodePoolGroup":{"type":"object","required":["name"],
            "properties":{"name":{"type":"string","minLength":1}}},
        "whenUnsatisfiable":{"type":"string","default":"DoNotScaleUp","enum":["ScaleUpAnyway","DoNotScaleUp"]}
        })j");
    fields["nodePoolConfig"] = nodePoolConfig();
    fields["priorities"] = {{"type", "array"},
                            {"default", Json::array()},
                            {"minItems", 0},
                            {"maxItems", 1000},
                            {"items", priority()}};
    fields["priorityDefaults"] = priorityDefaults();
    return Json{{"type", "object"},
                {"required", {"whenUnsatisfiable"}},
                {"properties", std::move(fields)},
                {"x-kubernetes-validations", computeClassSpecRules()}};
}

Json computeClassStatusSchema()
{
    Json resources = parsed(R"({"type":"array","items":{"type":"object","properties":{
        "currentCount":{"type":"integer"},
        "currentUtilizationPercentage":{"type":"integer","minimum":0,"maximum":100},
        "measuredAt":{"type":"string","format":"date-time"},
        "name":{"type":"string",
            "enum":["cpu","memory","ephemeral-storage","nvidia.com/gpu","google.com/tpu"]},
        "targetCount":{"type":"integer"},"unit":{"type":"string","enum":["Cores","GiB","Cards"]}}}})");
    Json history = parsed(R"({"type":"object","properties":{"consolidatedNodesCount":{"type":"integer"},
        "measuredAt":{"type":"string","format":"date-time"},
        "measuredSince":{"type":"string","format":"date-time"},
        "migratedNodesCount":{"type":"integer"},"provisionedNodesCount":{"type":"integer"}}})");
    Json priorityStatus{{"type", "object"},
                        {"properties",
                         {{"conditions", conditions()},
                          {"identifier", {{"type", "string"}}},
                          {"resourceInfo", resources},
                          {"scalingEventsHistory", history}}}};
    return Json{{"type", "object"},
                {"properties",
                 {{"conditions", conditions()},
                  {"priorityStatuses", {{"type", "array"}, {"items", std::move(priorityStatus)}}},
                  {"resourceInfo", resources}}}};
}

} // namespace cluster::local
