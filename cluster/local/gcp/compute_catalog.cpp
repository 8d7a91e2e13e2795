#include "cluster/local/gcp/compute_catalog.h"

#include "cluster/local/gcp/built_in_compute.h"
#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>
#include <yaml-cpp/yaml.h>

namespace cluster::local {

namespace {

QuotaName readQuota(const YAML::Node &node)
{
    QuotaName name;
    if (!node)
        return name;
    name.id = node["id"].as<std::string>();
    name.metric = node["metric"].as<std::string>();
    name.family = node["family"].as<std::string>("");
    return name;
}

Accelerator readAccelerator(const YAML::Node &node)
{
    Accelerator accelerator;
    accelerator.name = node["name"].as<std::string>();
    accelerator.title = node["title"].as<std::string>();
    accelerator.isTpu = node["kind"].as<std::string>() == "tpu";
    accelerator.quota = readQuota(node["quota"]);
    accelerator.preemptibleQuota = readQuota(node["preemptible"]);
    accelerator.zones = node["zones"].as<std::vector<std::string>>();
    for (const auto &machine : node["machines"]) {
        accelerator.machines.push_back({machine["name"].as<std::string>(), machine["vcpu"].as<int>(),
                                        machine["memory_gb"].as<double>(), accelerator.name,
                                        machine["count"].as<double>()});
    }
    return accelerator;
}

DefaultLimits readLimits(const YAML::Node &node)
{
    DefaultLimits limits;
    limits.tpuChips = node["tpu_chips"].as<std::int64_t>();
    limits.gpus = node["gpus"].as<std::int64_t>();
    limits.preemptible = node["preemptible"].as<std::int64_t>();
    limits.regional = node["regional"].as<std::map<std::string, std::int64_t>>();
    limits.global = node["global"].as<std::map<std::string, std::int64_t>>();
    return limits;
}

std::vector<MachineType> readGeneral(const YAML::Node &catalog)
{
    std::vector<MachineType> machines;
    for (const auto &family : catalog["general_machines"]) {
        const auto perCpu = family["memory_per_vcpu"].as<double>();
        for (const int vcpu : family["vcpus"].as<std::vector<int>>()) {
            const std::string name = family["family"].as<std::string>() + "-" + std::to_string(vcpu);
            machines.push_back({name, vcpu, vcpu * perCpu, {}, 0});
        }
    }
    for (const auto &shared : catalog["shared_core_machines"]) {
        machines.push_back({shared["name"].as<std::string>(),
                            shared["vcpu"].as<int>(),
                            shared["memory_gb"].as<double>(),
                            {},
                            0});
    }
    return machines;
}

/// "n2-custom-4-8192", "e2-custom-2-4096": vCPUs and memory in MB.
std::optional<MachineType> customMachine(std::string_view name)
{
    const auto at = name.find("custom-");
    if (at == std::string_view::npos)
        return std::nullopt;
    int vcpu = 0;
    int megabytes = 0;
    const char *const end = name.data() + name.size();
    const auto cpus = std::from_chars(name.data() + at + 7, end, vcpu);
    if (cpus.ec != std::errc{} || cpus.ptr == end || *cpus.ptr != '-')
        return std::nullopt;
    const auto memory = std::from_chars(cpus.ptr + 1, end, megabytes);
    if (memory.ec != std::errc{} || memory.ptr != end || vcpu < 1 || vcpu > 512 || megabytes < 256)
        return std::nullopt;
    return MachineType{std::string(name), vcpu, megabytes / 1024.0, {}, 0};
}

} // namespace

const ComputeCatalog &ComputeCatalog::builtIn()
{
    static const ComputeCatalog catalog = [] {
        auto parsed = parse(builtInComputeYaml);
        if (!parsed)
            throw std::logic_error(parsed.error().message); // a test reads it: never in what is shipped
        return *parsed;
    }();
    return catalog;
}

Result<ComputeCatalog> ComputeCatalog::parse(const std::string &yaml)
{
    try {
        const YAML::Node root = YAML::Load(yaml);
        ComputeCatalog catalog;
        for (const auto &region : root["regions"]) {
            const auto name = region.first.as<std::string>();
            for (const auto &letter : region.second)
                catalog.m_regions[name].push_back(name + "-" + letter.as<std::string>());
        }
        for (const auto &node : root["accelerators"])
            catalog.m_accelerators.push_back(readAccelerator(node));
        for (const Accelerator &accelerator : catalog.m_accelerators) {
            for (const std::string &zone : accelerator.zones) {
                if (!catalog.hasZone(zone))
                    return fail(ErrorCode::InvalidArgument,
                                accelerator.name + " is in " + zone + ", which no region has: add the zone");
            }
        }
        catalog.m_general = readGeneral(root);
        catalog.m_limits = readLimits(root["limits"]);
        return catalog;
    } catch (const YAML::Exception &error) {
        return fail(ErrorCode::InvalidArgument, std::string("the compute catalogue: ") + error.what());
    }
}

bool ComputeCatalog::hasZone(std::string_view zone) const
{
    const auto region = m_regions.find(regionOfZone(zone));
    return region != m_regions.end()
        && std::find(region->second.begin(), region->second.end(), zone) != region->second.end();
}

bool ComputeCatalog::hasRegion(std::string_view region) const
{
    return m_regions.contains(std::string(region));
}

const Accelerator *ComputeCatalog::accelerator(std::string_view name) const
{
    const auto found = std::find_if(m_accelerators.begin(), m_accelerators.end(),
                                    [&](const Accelerator &a) { return a.name == name; });
    return found == m_accelerators.end() ? nullptr : &*found;
}

std::vector<MachineType> ComputeCatalog::machinesOf(std::string_view zone) const
{
    std::vector<MachineType> machines;
    if (!hasZone(zone))
        return machines;
    for (const Accelerator &accelerator : m_accelerators) {
        if (std::find(accelerator.zones.begin(), accelerator.zones.end(), zone) != accelerator.zones.end())
            machines.insert(machines.end(), accelerator.machines.begin(), accelerator.machines.end());
    }
    machines.insert(machines.end(), m_general.begin(), m_general.end());
    std::sort(machines.begin(), machines.end(),
              [](const MachineType &a, const MachineType &b) { return a.name < b.name; });
    return machines;
}

std::optional<MachineType> ComputeCatalog::machine(std::string_view name) const
{
    for (const Accelerator &accelerator : m_accelerators) {
        for (const MachineType &machine : accelerator.machines) {
            if (machine.name == name)
                return machine;
        }
    }
    for (const MachineType &machine : m_general) {
        if (machine.name == name)
            return machine;
    }
    return customMachine(name);
}

std::string regionOfZone(std::string_view zone)
{
    // "us-central1" has one dash, "us-central1-a" two; a third would be no place.
    const auto first = zone.find('-');
    const auto last = zone.rfind('-');
    return std::string(first == last ? zone : zone.substr(0, last));
}

} // namespace cluster::local
