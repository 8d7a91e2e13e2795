#pragma once

#include "cluster/base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster {

/// A GKE version, "1.34.1-gke.3849001", by which versions can be compared.
struct GkeVersion
{
    int major = 0;
    int minor = 0;
    int patch = 0;
    long build = 0; ///< the number behind "-gke."

    /// Nothing for a text of another form.
    static std::optional<GkeVersion> parse(std::string_view text);
    friend auto operator<=>(const GkeVersion &, const GkeVersion &) = default;
};

struct ReleaseChannel
{
    std::string name; ///< "REGULAR"
    std::string defaultVersion;
    std::vector<std::string> versions; ///< newest first
};

struct TpuMachine
{
    std::string name; ///< "ct6e-standard-4t"
    int chips = 0; ///< of one VM
    std::string singleTopology; ///< of one VM by itself: "2x2"
    std::vector<std::string> slices; ///< topologies of several VMs
    int cubes = 0; ///< slices of up to so many 4x4x4 cubes, in any arrangement; 0: none
};

/// TPUs of one machine family, with the label that nodes carry.
struct TpuFamily
{
    std::string name; ///< "ct6e"
    std::string label; ///< "tpu-v6e-slice"
    std::string minVersion; ///< of Standard clusters; empty: none is known
    std::string minAutopilotVersion;
    bool wantsWorkloadPolicy = false;
    std::vector<TpuMachine> machines;
};

/// What GKE knows of slices and versions: resources/catalog/gke.yaml.
class GkeCatalog
{
public:
    /// The one this program was built with.
    static const GkeCatalog &builtIn();
    /// Errors: InvalidArgument with the place in the text.
    static Result<GkeCatalog> parse(const std::string &yaml);

    [[nodiscard]] const std::vector<TpuFamily> &tpus() const { return m_tpus; }
    /// Nothing if the machine type has no TPUs.
    [[nodiscard]] const TpuMachine *tpuMachine(std::string_view machineType) const;
    [[nodiscard]] const TpuFamily *tpuFamily(std::string_view machineType) const;
    [[nodiscard]] const TpuFamily *tpuFamilyOfLabel(std::string_view label) const;

    [[nodiscard]] const std::vector<std::string> &versions() const { return m_versions; } ///< newest first
    [[nodiscard]] const std::vector<ReleaseChannel> &channels() const { return m_channels; }
    [[nodiscard]] const ReleaseChannel *channel(std::string_view name) const;
    [[nodiscard]] const std::string &controlPlaneVersion() const { return m_controlPlane; } ///< "1.34.4"
    /// The full version that "", "latest", "1.33", "1.33.2" or a full version stand for, the newest that
    /// fits, those of the channel first. Nothing if there is none. An unknown channel is as none.
    [[nodiscard]] std::optional<std::string> resolveVersion(const std::string &wanted,
                                                            std::string_view channel) const;

private:
    std::string m_controlPlane;
    std::vector<std::string> m_versions;
    std::vector<ReleaseChannel> m_channels;
    std::vector<TpuFamily> m_tpus;
};

/// Whether Compute Engine starts such machines from Hyperdisk alone: the fourth generation, and A3 Ultra.
bool takesHyperdiskOnly(std::string_view machineType);

/// The product of "4x4" or "2x2x4". Nothing for a text of another form, or with more than 100000 chips.
std::optional<int> chipsOfTopology(std::string_view topology);

/// Whether VMs of this type form such a slice of several VMs.
bool isSliceTopology(const TpuMachine &machine, std::string_view topology);

} // namespace cluster
