// What GKE's definition checks over more than one field, in CEL.

#include "cluster/local/nodes/compute_class_schema.h"

#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

Json rule(const std::string &message, const std::string &cel)
{
    return Json{{"message", message}, {"rule", cel}};
}

const std::string autopilotOn = "(has(self.autopilot) && self.autopilot.enabled)";

/// Holds for all priorities where the class's confidential type is this one.
Json confidential(const char *type, const char *message, const std::string &ofPriority)
{
    return rule(message,
                "(has(self.nodePoolConfig) && has(self.nodePoolConfig.confidentialNodeType) && "
                "self.nodePoolConfig.confidentialNodeType == \""
                    + std::string(type) + "\") ? self.priorities.all(priority, " + ofPriority + ") : true");
}

/// A machine of TDX takes only this accelerator.
Json tdxGpu(const char *family, const std::string &machine, const char *message, const std::string &gpu)
{
    return confidential("TDX", message,
                        "(has(priority.machineFamily) && priority.machineFamily == '" + std::string(family)
                            + "' || has(priority.machineType) && " + machine
                            + ") ? (!has(priority.gpu) || has(priority.gpu) && (!has(priority.gpu.type) || "
                              "priority.gpu.type == '"
                            + gpu + "')) : true");
}

void addConfidentialRules(Json &rules)
{
    const std::string amd = "['n2d', 'c2d', 'c3d', 'c4d', 'g4']";
    rules.push_back(rule(
        "If using NodePoolConfig.ConfidentialNodeType, each priority must specify either MachineFamily or "
        "MachineType.",
        "(has(self.nodePoolConfig) && has(self.nodePoolConfig.confidentialNodeType)) ? "
        "self.priorities.all(priority, has(priority.machineFamily) || has(priority.machineType)) : true"));
    rules.push_back(confidential(
        "SEV", "ConfidentialNodeType SEV only supports N2D, C2D, C3D, C4D, G4",
        "((has(priority.machineFamily) && priority.machineFamily in " + amd
            + ") || (has(priority.machineType) && priority.machineType.split('-')[0] in " + amd + "))"));
    rules.push_back(confidential(
        "SEV",
        "ConfidentialNodeType SEV on G4 only supports g4-standard-48 machine type and nvidia-rtx-pro-6000 "
        "GPU "
        "type",
        "(has(priority.machineFamily) && priority.machineFamily == 'g4') ? false : "
        "(has(priority.machineType) && priority.machineType.startsWith('g4-')) ? (priority.machineType == "
        "'g4-standard-48' && (!has(priority.gpu) || has(priority.gpu) && (!has(priority.gpu.type) || "
        "priority.gpu.type == 'nvidia-rtx-pro-6000'))) : true"));
    rules.push_back(confidential("SEV_SNP", "ConfidentialNodeType SEV_SNP only supports N2D",
                                 "((has(priority.machineFamily) && priority.machineFamily in ['n2d']) || "
                                 "(has(priority.machineType) && "
                                 "priority.machineType.split('-')[0] in ['n2d']))"));
    rules.push_back(confidential(
        "TDX", "ConfidentialNodeType TDX only supports C3 standard, C4 standard, A3 and A4",
        "(has(priority.machineFamily) && priority.machineFamily in ['c3', 'c4', 'a3', 'a4']) || "
        "(has(priority.machineType) && (priority.machineType.startsWith('c3-standard-') || "
        "priority.machineType.startsWith('c4-standard-') || priority.machineType == 'a3-highgpu-1g' || "
        "priority.machineType == 'a4-highgpu-8g'))"));
    rules.push_back(tdxGpu("c3", "priority.machineType.startsWith('c3-standard-')",
                           "ConfidentialNodeType TDX on C3 only supports c3-standard- machine type and "
                           "nvidia-h100-80gb GPU type",
                           "nvidia-h100-80gb"));
    rules.push_back(tdxGpu("c4", "priority.machineType.startsWith('c4-standard-')",
                           "ConfidentialNodeType TDX on C4 only supports c4-standard- machine type and "
                           "nvidia-h100-80gb GPU type",
                           "nvidia-h100-80gb"));
    rules.push_back(tdxGpu("a3", "priority.machineType == 'a3-highgpu-1g'",
                           "ConfidentialNodeType TDX on A3 only supports a3-highgpu-1g machine type and "
                           "nvidia-h100-80gb GPU type",
                           "nvidia-h100-80gb"));
    rules.push_back(tdxGpu("a4", "priority.machineType == 'a4-highgpu-8g'",
                           "ConfidentialNodeType TDX on A4 only supports a4-highgpu-8g machine type and "
                           "nvidia-b200 GPU type",
                           "nvidia-b200"));
    rules.push_back(
        rule("When using confidential GPUs you must specify location.zones",
             "(has(self.nodePoolConfig) && has(self.nodePoolConfig.confidentialNodeType) && "
             "self.priorities.exists(priority, has(priority.gpu))) ? (has(self.priorityDefaults) && "
             "has(self.priorityDefaults.location) && has(self.priorityDefaults.location.zones)) || "
             "self.priorities.all(priority, has(priority.location) && has(priority.location.zones)) : true"));
}

void addAutopilotRules(Json &rules)
{
    rules.push_back(rule("Autopilot is required once set", "!has(oldSelf.autopilot) || has(self.autopilot)"));
    rules.push_back(
        rule("Nodepools priority cannot be used when Autopilot is enabled",
             autopilotOn + " ? !self.priorities.exists(priority, has(priority.nodepools)) : true"));
    rules.push_back(rule("NodePoolAutoCreation cannot be disabled when Autopilot is enabled",
                         autopilotOn
                             + " ? !(has(self.nodePoolAutoCreation) && !self.nodePoolAutoCreation.enabled) : "
                               "true"));
    rules.push_back(rule("Only cos_containerd image type can be used when Autopilot is enabled",
                         autopilotOn
                             + " ? (!has(self.nodePoolConfig) || !has(self.nodePoolConfig.imageType) || "
                               "self.nodePoolConfig.imageType == \"cos_containerd\") : true"));
    rules.push_back(
        rule("Only DEFAULT logging variant can be used when Autopilot is enabled",
             autopilotOn
                 + " ? (!has(self.nodePoolConfig) || !has(self.nodePoolConfig.loggingConfig) || "
                   "!has(self.nodePoolConfig.loggingConfig.loggingVariantConfig) || "
                   "!has(self.nodePoolConfig.loggingConfig.loggingVariantConfig.variant) || "
                   "self.nodePoolConfig.loggingConfig.loggingVariantConfig.variant == \"DEFAULT\") : true"));
    rules.push_back(
        rule("In GKE Standard, pod family can be used only if Autopilot is enabled",
             "self.priorities.exists(priority, has(priority.podFamily)) ? " + autopilotOn + " : true"));
}

} // namespace

Json computeClassSpecRules()
{
    Json rules = Json::array();
    addAutopilotRules(rules);
    rules.push_back(rule("If NodePoolGroup is not specified NodePoolConfig.WorkloadType can only be "
                         "HIGH_AVAILABILITY if set",
                         "(has(self.nodePoolConfig) && has(self.nodePoolConfig.workloadType) && "
                         "!has(self.nodePoolGroup)) ? self.nodePoolConfig.workloadType == "
                         "\"HIGH_AVAILABILITY\" : true"));
    addConfidentialRules(rules);
    rules.push_back(rule(
        "PriorityScore must be set for all priorities or for none of them",
        "self.priorities.all(p, has(p.priorityScore)) || self.priorities.all(p, !has(p.priorityScore))"));
    rules.push_back(rule(
        "GPU Topology is supported only for A4X machine family or nvidia-gb200 GPU type together with "
        "placement (workload) policy",
        "self.priorities.all(p, (has(p.gpu) && has(p.gpu.topology)) ? (((has(p.machineFamily) && "
        "p.machineFamily == 'a4x') || (has(p.gpu.type) && p.gpu.type == 'nvidia-gb200')) && has(p.placement) "
        "&& has(p.placement.policyName)) : true)"));
    rules.push_back(
        rule("shutdownGracePeriodSeconds is only supported for Spot",
             "self.priorities.all(p, (has(p.spot) && p.spot)) || !has(self.priorityDefaults) || "
             "!has(self.priorityDefaults.nodeSystemConfig) || "
             "!has(self.priorityDefaults.nodeSystemConfig.kubeletConfig) || "
             "!has(self.priorityDefaults.nodeSystemConfig.kubeletConfig.shutdownGracePeriodSeconds)"));
    rules.push_back(rule(
        "Spec-level MinimumCapacity requires all priorities to have machine specifications (machineType, "
        "gpu, tpu, or specific reservation)",
        "has(self.minimumCapacity) && has(self.minimumCapacity.targetNodeCount) ? "
        "self.priorities.all(p, has(p.machineType) || has(p.gpu) || has(p.tpu) || (has(p.reservations) "
        "&& p.reservations.affinity == 'Specific')) : true"));
    return rules;
}

Json computeClassPriorityRules()
{
    return Json::array(
        {rule("Nodepool field cannot be set along with other nodepool configuration fields",
              "has(self.nodepools) ? (size(dyn(self)) == 1 + (has(self.allocationStrategy) ? 1 : 0) + "
              "(has(self.priorityScore) ? 1 : 0)) : true"),
         rule("MachineFamily and MachineType cannot be set together",
              "!(has(self.machineFamily) && has(self.machineType))"),
         rule("MachineType cannot be set together with MinCores/MinMemoryGb",
              "!(has(self.machineType) && (has(self.minCores) || has(self.minMemoryGb)))"),
         rule("MachineFamily cannot be equal to 'ek'",
              "!(has(self.machineFamily) && self.machineFamily == 'ek')"),
         rule("MachineType cannot start with 'ek' prefix",
              "!(has(self.machineType) && self.machineType.startsWith('ek'))"),
         rule("Flex Start provisioning model is incompatible with Spot",
              "!(has(self.flexStart) && has(self.spot) && self.spot == true && self.flexStart.enabled == "
              "true)"),
         rule("capacityCheckWaitTimeSeconds is only supported for Flex Start and for multi-host TPUs",
              "!has(self.capacityCheckWaitTimeSeconds) || has(self.tpu) || (has(self.flexStart) && "
              "self.flexStart.enabled)"),
         rule("shutdownGracePeriodSeconds is only supported for Spot",
              "(has(self.spot) && self.spot) || !has(self.nodeSystemConfig) || "
              "!has(self.nodeSystemConfig.kubeletConfig) || "
              "!has(self.nodeSystemConfig.kubeletConfig.shutdownGracePeriodSeconds)"),
         rule("acceleratorNetworkProfile must be specified when gpuDirect is 'rdma'",
              "!(has(self.gpuDirect) && self.gpuDirect == 'rdma') || has(self.acceleratorNetworkProfile)"),
         rule("Priority-level MinimumCapacity requires a machineType, gpu, tpu, or specific reservation",
              "has(self.minimumCapacity) && has(self.minimumCapacity.targetNodeCount) ? "
              "(has(self.machineType) || has(self.gpu) || has(self.tpu) || (has(self.reservations) && "
              "self.reservations.affinity == 'Specific')) : true")});
}

} // namespace cluster::local
