#pragma once

#include "cluster/base/result.h"
#include "cluster/local/nodeagent/environment.h"
#include "cluster/local/nodeagent/shell_words.h"

#include <filesystem>
#include <string>
#include <vector>

namespace cluster::local {

struct RayCommandInput
{
    std::vector<std::string> command, args; ///< the container's, variables expanded
    VariableOf variable; ///< of the container's environment, for `bash -c` scripts
    std::string address; ///< of the pod: the node's own
    std::filesystem::path program; ///< slipway-ray
};

/// What runs in place of Ray, program first: `ray start --head …` is `slipway-ray head …`, `ray start
/// --address=…` a worker, and the loop of KubeRay's init container around `ray health-check` waits for the
/// head. InvalidArgument: none of these is in the command.
Result<std::vector<std::string>> rayCommand(const RayCommandInput &input);

/// The version of an image's tag ("rayproject/ray:2.9.0-py310" is 2.9.0); empty where it has none.
std::string rayVersionOfImage(const std::string &image);

/// What slipway-ray is told by variables of its own (SLIPWAY_RAY_…) is the agent's to say: a pod that sets
/// them would choose which program of this machine runs.
void removeRayVariables(Environment &environment);

/// "localhost" in a URL of a command is the pod itself, which on the one loopback network is its own address.
std::vector<std::string> withOwnLocalhost(std::vector<std::string> words, const std::string &address);

} // namespace cluster::local
