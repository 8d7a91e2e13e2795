#pragma once

#include "cluster/base/result.h"
#include "cluster/local/nodeagent/pod_spec.h"
#include "cluster/local/nodeagent/volumes.h"

#include <filesystem>
#include <string>
#include <vector>

namespace cluster::local {

// Podman by its command line: real images, where the user has podman and allows it (--allow-podman). Written
// after its manual and tested against a script that plays it: it has not been seen with a real podman. A
// container's CPU and memory are not in the kubelet's metrics; those shown are its client's.

/// A container of podman's that runs.
struct PodmanContainer
{
    std::filesystem::path program;
    std::string name;
    std::vector<std::string> environment; ///< of podman itself: its HOME, PATH, XDG_RUNTIME_DIR
};

struct PodmanRun
{
    PodmanContainer container;
    const ContainerSpec &spec;
    std::vector<std::string> command, args; ///< expanded; an empty command is the image's own
    std::vector<std::string> variables; ///< names: values are in podman's environment, not on its line
    std::vector<std::string> plainVariables; ///< "PATH=…": those that would change podman itself
    std::vector<ContainerMount> mounts;
    std::filesystem::path hostsFile; ///< becomes /etc/hosts
    std::string hostName, workingFolder;
};

/// Runs it in the foreground: output, exit code and SIGTERM are the container's. On this machine's network,
/// as all pods.
std::vector<std::string> podmanRun(const PodmanRun &run);
std::vector<std::string> podmanExec(const PodmanContainer &container, const std::vector<std::string> &command,
                                    bool hasStdin, bool hasTerminal);
std::vector<std::string> podmanKill(const PodmanContainer &container);

/// podman's own variables, from this process's.
std::vector<std::string> podmanEnvironment();

/// Has the image on this machine, by the pull policy; may pull, which takes minutes. Unavailable: it can't be
/// had, with podman's words.
Status preparePodmanImage(const std::filesystem::path &initProgram, const PodmanContainer &container,
                          const ContainerSpec &spec);

} // namespace cluster::local
