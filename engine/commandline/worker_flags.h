#pragma once

#include "cluster/base/result.h"
#include "engine/commandline/flag_values.h"
#include "engine/commandline/serve_flags.h"

namespace engine {

/// Everything that `slipway-engine worker` was told.
struct WorkerOptions
{
    HostPort listen{"127.0.0.1", 50052};
    std::string token; ///< Empty: none is asked for; loopback only.
    int threads = 0; ///< 0: by the free cores.
    std::chrono::milliseconds leaderDeadline{5'000}; ///< A leader that is silent for so long is gone.
    std::string logLevel = "info";
    bool help = false;
};

/// Errors: InvalidArgument or NotFound, one line; also an address that is not loopback without a token.
[[nodiscard]] cluster::Result<WorkerOptions> parseWorker(const std::vector<std::string> &arguments,
                                                         const Environment &environment);

[[nodiscard]] std::string workerHelp();

} // namespace engine
