#pragma once

#include <string>
#include <vector>

namespace cluster::local {

struct LaunchMount
{
    std::string source, target;
    bool isReadOnly = false;
};

/// What slipway-pod-init is to start. Handed over as a file of NUL-ended words (key, value, key, value, …),
/// so that no secret of an environment is ever on a command line.
struct LaunchSpec
{
    std::vector<std::string> arguments;
    std::vector<std::string> environment; ///< "NAME=value"
    std::string workingFolder; ///< empty: "/"
    std::vector<LaunchMount> mounts;
    std::string rootFolder; ///< an empty folder that becomes the root; needed for mounts
    bool ownMounts = false; ///< user, mount and UTS namespace
    std::string hostName; ///< in that; empty: this machine's
    bool ownProcesses = false; ///< PID namespace
    std::string cgroup; ///< folder of the group that it and its own run in; empty: this process's
    std::vector<int> processors; ///< that they may use; empty: all
    int joinPid = 0; ///< exec: enter the namespaces of this process instead
    bool hasTerminal = false; ///< standard input is a terminal and shall control it
    int parentPid = 0; ///< whose death ends this
};

std::string encodeLaunch(const LaunchSpec &spec);
/// Ignores keys that it doesn't know.
LaunchSpec decodeLaunch(const std::string &text);

} // namespace cluster::local
