#pragma once

#include "cluster/base/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster::local {

/// A quota of compute.googleapis.com under its two names.
struct QuotaName
{
    std::string
        id; ///< as Cloud Quotas has it: "TPUS-PER-TPU-FAMILY-per-project-region"; empty: none is known
    std::string metric; ///< as regions.get and error texts have it: "TPUS_PER_TPU_FAMILY"
    std::string
        family; ///< value of its tpu_family or gpu_family, "CT6E"; empty where it has no such dimension
};

struct MachineType
{
    std::string name;
    int vcpu = 0;
    double memoryGb = 0;
    std::string accelerator; ///< an Accelerator's name, or empty
    double acceleratorCount = 0; ///< chips or GPUs of one VM; shares of a GPU are below 1
};

struct Accelerator
{
    std::string name; ///< "nvidia-l4"; TPUs by machine family, "ct6e"
    std::string title; ///< "NVIDIA L4"
    bool isTpu = false;
    QuotaName quota;
    QuotaName preemptibleQuota; ///< of spot and flex-start
    std::vector<std::string> zones;
    std::vector<MachineType> machines;
};

/// What the local target starts with where no quota was set.
struct DefaultLimits
{
    std::int64_t tpuChips = 0;
    std::int64_t gpus = 0;
    std::int64_t preemptible = 0;
    std::map<std::string, std::int64_t> regional; ///< by metric
    std::map<std::string, std::int64_t> global; ///< by metric
};

/// Regions, zones, machine types and accelerators: resources/catalog/compute.yaml.
class ComputeCatalog
{
public:
    /// The one this program was built with.
    static const ComputeCatalog &builtIn();
    /// Errors: InvalidArgument with the place in the text.
    static Result<ComputeCatalog> parse(const std::string &yaml);

    /// In the order of their names; each with its zones' full names.
    [[nodiscard]] const std::map<std::string, std::vector<std::string>> &regions() const { return m_regions; }
    [[nodiscard]] bool hasZone(std::string_view zone) const;
    [[nodiscard]] bool hasRegion(std::string_view region) const;
    [[nodiscard]] const std::vector<Accelerator> &accelerators() const { return m_accelerators; }
    [[nodiscard]] const Accelerator *accelerator(std::string_view name) const;
    /// Those with an accelerator only where it is; all others everywhere. Empty for an unknown zone.
    [[nodiscard]] std::vector<MachineType> machinesOf(std::string_view zone) const;
    /// Wherever it is. "custom" types of the general families are read too ("n2-custom-4-8192").
    [[nodiscard]] std::optional<MachineType> machine(std::string_view name) const;
    [[nodiscard]] const DefaultLimits &limits() const { return m_limits; }

private:
    std::map<std::string, std::vector<std::string>> m_regions;
    std::vector<Accelerator> m_accelerators;
    std::vector<MachineType> m_general;
    DefaultLimits m_limits;
};

/// "us-east5" of "us-east5-b"; a region is its own.
std::string regionOfZone(std::string_view zone);

} // namespace cluster::local
