#include "cluster/catalog/gke_catalog.h"

#include "cluster/catalog/built_in_gke.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <yaml-cpp/yaml.h>

namespace cluster {

namespace {

/// Takes a number off the front of `text`.
template<typename Number>
bool takeNumber(std::string_view &text, Number &number)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0)
        return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

bool takeText(std::string_view &text, std::string_view prefix)
{
    if (!text.starts_with(prefix))
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

/// Sides of "2x2x4": two or three.
std::vector<int> sidesOf(std::string_view topology)
{
    std::vector<int> sides;
    do {
        int side = 0;
        if (!takeNumber(topology, side) || side == 0 || side > 10000)
            return {};
        sides.push_back(side);
    } while (takeText(topology, "x"));
    const bool isWhole = topology.empty() && (sides.size() == 2 || sides.size() == 3);
    return isWhole ? sides : std::vector<int>{};
}

TpuMachine machineOf(const YAML::Node &node)
{
    TpuMachine machine;
    machine.name = node["name"].as<std::string>();
    machine.chips = node["chips"].as<int>();
    machine.singleTopology = node["single"].as<std::string>();
    if (node["slices"])
        machine.slices = node["slices"].as<std::vector<std::string>>();
    if (node["cubes"])
        machine.cubes = node["cubes"].as<int>();
    return machine;
}

TpuFamily familyOf(const YAML::Node &node)
{
    TpuFamily family;
    family.name = node["family"].as<std::string>();
    family.label = node["label"].as<std::string>();
    if (const auto min = node["min_version"]) {
        family.minVersion = min["standard"].as<std::string>();
        family.minAutopilotVersion = min["autopilot"].as<std::string>();
    }
    family.wantsWorkloadPolicy = node["workload_policy"] && node["workload_policy"].as<bool>();
    for (const auto &machine : node["machines"])
        family.machines.push_back(machineOf(machine));
    return family;
}

std::pair<int, int> minorOf(const std::string &version)
{
    std::string_view text = version;
    std::pair<int, int> minor;
    if (!takeNumber(text, minor.first) || !takeText(text, ".") || !takeNumber(text, minor.second))
        throw YAML::Exception(YAML::Mark::null_mark(), "'" + version + "' is no version");
    return minor;
}

ReleaseChannel channelOf(const YAML::Node &node, const std::vector<std::string> &versions)
{
    ReleaseChannel channel{node["name"].as<std::string>(), node["default"].as<std::string>(), {}};
    const auto from = minorOf(node["from"].as<std::string>());
    const auto to = minorOf(node["to"].as<std::string>());
    for (const std::string &version : versions) {
        if (minorOf(version) >= from && minorOf(version) <= to)
            channel.versions.push_back(version);
    }
    return channel;
}

/// "1.33" stands for "1.33.2-gke.1" but not for "1.330.0".
bool standsFor(std::string_view prefix, std::string_view version)
{
    return version.starts_with(prefix)
        && (version.size() == prefix.size() || version[prefix.size()] == '.'
            || version[prefix.size()] == '-');
}

std::optional<std::string> newestOf(const std::vector<std::string> &versions, std::string_view prefix)
{
    const auto found = std::find_if(versions.begin(), versions.end(),
                                    [&](const std::string &version) { return standsFor(prefix, version); });
    return found == versions.end() ? std::nullopt : std::optional(*found);
}

} // namespace

std::optional<GkeVersion> GkeVersion::parse(std::string_view text)
{
    GkeVersion version;
    const bool isRead = takeNumber(text, version.major) && takeText(text, ".")
        && takeNumber(text, version.minor) && takeText(text, ".") && takeNumber(text, version.patch)
        && (text.empty() || (takeText(text, "-gke.") && takeNumber(text, version.build) && text.empty()));
    return isRead ? std::optional(version) : std::nullopt;
}

Result<GkeCatalog> GkeCatalog::parse(const std::string &yaml)
{
    GkeCatalog catalog;
    try {
        const YAML::Node root = YAML::Load(yaml);
        catalog.m_controlPlane = root["control_plane"].as<std::string>();
        catalog.m_versions = root["versions"].as<std::vector<std::string>>();
        std::sort(catalog.m_versions.begin(), catalog.m_versions.end(), [](const auto &a, const auto &b) {
            return GkeVersion::parse(a) > GkeVersion::parse(b); // newest first
        });
        for (const auto &channel : root["channels"])
            catalog.m_channels.push_back(channelOf(channel, catalog.m_versions));
        for (const auto &family : root["tpus"])
            catalog.m_tpus.push_back(familyOf(family));
    } catch (const YAML::Exception &error) {
        return fail(ErrorCode::InvalidArgument, std::string("the GKE catalogue: ") + error.what());
    }
    return catalog;
}

const GkeCatalog &GkeCatalog::builtIn()
{
    // A test reads it: one that can't be parsed does not leave the house.
    static const GkeCatalog catalog = parse(kBuiltInGke).value();
    return catalog;
}

const TpuFamily *GkeCatalog::tpuFamily(std::string_view machineType) const
{
    for (const TpuFamily &family : m_tpus) {
        for (const TpuMachine &machine : family.machines) {
            if (machine.name == machineType)
                return &family;
        }
    }
    return nullptr;
}

const TpuMachine *GkeCatalog::tpuMachine(std::string_view machineType) const
{
    const TpuFamily *family = tpuFamily(machineType);
    if (!family)
        return nullptr;
    return &*std::find_if(family->machines.begin(), family->machines.end(),
                          [&](const TpuMachine &machine) { return machine.name == machineType; });
}

const TpuFamily *GkeCatalog::tpuFamilyOfLabel(std::string_view label) const
{
    const auto found = std::find_if(m_tpus.begin(), m_tpus.end(),
                                    [&](const TpuFamily &family) { return family.label == label; });
    return found == m_tpus.end() ? nullptr : &*found;
}

const ReleaseChannel *GkeCatalog::channel(std::string_view name) const
{
    const auto found = std::find_if(m_channels.begin(), m_channels.end(),
                                    [&](const ReleaseChannel &channel) { return channel.name == name; });
    return found == m_channels.end() ? nullptr : &*found;
}

std::optional<std::string> GkeCatalog::resolveVersion(const std::string &wanted,
                                                      std::string_view channelName) const
{
    const ReleaseChannel *own = channel(channelName);
    const ReleaseChannel *first = own ? own : channel("REGULAR");
    if ((wanted.empty() || wanted == "-") && first)
        return first->defaultVersion;
    if (wanted == "latest")
        return own && !own->versions.empty() ? own->versions.front() : m_versions.front();
    if (own) {
        if (const auto found = newestOf(own->versions, wanted))
            return found;
    }
    return newestOf(m_versions, wanted);
}

bool takesHyperdiskOnly(std::string_view machineType)
{
    constexpr std::array<std::string_view, 13> series{"tpu7x-", "a3-ultragpu-", "a4-", "a4x-", "c4-",
                                                      "c4a-",   "c4d-",         "g4-", "h4d-", "m4-",
                                                      "n4-",    "n4a-",         "n4d-"};
    return std::any_of(series.begin(), series.end(),
                       [&](std::string_view prefix) { return machineType.starts_with(prefix); });
}

std::optional<int> chipsOfTopology(std::string_view topology)
{
    const auto sides = sidesOf(topology);
    long chips = sides.empty() ? 0 : 1;
    for (const int side : sides)
        chips *= side;
    return chips > 0 && chips <= 100000 ? std::optional(static_cast<int>(chips)) : std::nullopt;
}

bool isSliceTopology(const TpuMachine &machine, std::string_view topology)
{
    if (std::find(machine.slices.begin(), machine.slices.end(), topology) != machine.slices.end())
        return true;
    const auto sides = sidesOf(topology);
    if (sides.size() != 3 || machine.cubes == 0)
        return false;
    const bool isOfCubes = std::all_of(sides.begin(), sides.end(), [](int side) { return side % 4 == 0; });
    return isOfCubes && std::is_sorted(sides.begin(), sides.end())
        && static_cast<long>(sides[0] / 4) * (sides[1] / 4) * (sides[2] / 4) <= machine.cubes;
}

} // namespace cluster
