#pragma once

#include "cluster/base/result.h"
#include "cluster/local/nodeagent/pod_spec.h"

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

namespace cluster::local {

enum class RuntimeKind { Engine, Ray, BuiltIn, Simulated, Process, Podman };

/// What the user allows to run on this machine.
struct RuntimesAllowed
{
    bool process = false; ///< containers' own commands, as processes like others
    bool podman = false; ///< it is installed, too
};

struct RuntimeChoice
{
    RuntimeKind kind = RuntimeKind::Simulated;
    std::string standIn; ///< for the annotation, with {model} still in it; empty: nothing stands in
    std::vector<std::string> entrypoint;
    std::string program = {}; ///< of BuiltIn: its file's name, beside slipway-engine
};

/// resources/catalog/images.yaml: which runtime plays an image with a command. Never changes once read;
/// threads may share it.
class ImageTable
{
public:
    /// InvalidArgument with the line.
    static Result<ImageTable> parse(const std::string &yaml, RuntimesAllowed allowed);
    static Result<ImageTable> read(const std::filesystem::path &file, RuntimesAllowed allowed);

    /// NotFound where nothing plays the image; the text says what would help. \param wanted  The pod's own
    /// wish: "simulated", "process", "podman"; empty: none.
    [[nodiscard]] Result<RuntimeChoice> choose(const ContainerSpec &container,
                                               const std::string &wanted) const;

    /// All containers of it are simulated.
    [[nodiscard]] bool isSimulated(const PodSpec &pod) const;

private:
    struct Rule
    {
        std::string image;
        std::optional<std::regex> command;
        RuntimeChoice choice;
    };
    std::vector<Rule> m_rules;
    RuntimesAllowed m_allowed;
};

/// "docker.io/library/busybox:1.36@sha256:…" -> "busybox".
std::string imageRepository(std::string_view image);

} // namespace cluster::local
