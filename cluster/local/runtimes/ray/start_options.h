#pragma once

#include "cluster/base/result.h"
#include "cluster/local/runtimes/ray/ray_values.h"

#include <functional>
#include <string>
#include <vector>

namespace cluster::local {

using RayVariable = std::function<std::string(const std::string &name)>; ///< empty: not set

/// What one Ray node is started with.
struct RayStartOptions
{
    bool isHead = false;
    RayNodeFacts node;
    std::string headHost; ///< of a worker's --address
    unsigned short headPort = 6379; ///< where workers join
    unsigned short dashboardPort = 8265;
    std::string rayVersion = "2.60.0"; ///< of the image that is stood in for
    std::string engineProgram; ///< slipway-engine; empty: no language models
    std::string model; ///< GGUF file that answers for every language model
    bool allowsJobs = false; ///< entrypoints of jobs may run on this machine
    RayVariable variable;
    RayTimings timings;
};

/// `ray start`'s flags as KubeRay writes them, "--name=value" or "--name value". Those that this stand-in has
/// no use for are ignored, as ports of parts that are not there. \param isHead  as --head. The node's address
/// is --node-ip-address, else POD_IP, else 127.0.0.1. Own variables: SLIPWAY_RAY_VERSION, SLIPWAY_RAY_ENGINE,
/// SLIPWAY_RAY_MODEL, SLIPWAY_RAY_JOBS. Errors: InvalidArgument, which names the flag.
Result<RayStartOptions> parseRayStart(bool isHead, const std::vector<std::string> &words,
                                      const RayVariable &variable);

/// The host and port of "HOST:PORT".
Result<std::pair<std::string, unsigned short>> parseRayAddress(const std::string &text);

} // namespace cluster::local
