#pragma once

#include "engine/protocol/messages.h"
#include "engine/serving/server_options.h"
#include <chrono>
#include <string>
#include <vector>

namespace engine {

/// Everything that `slipway-engine serve` was told.
struct ServeOptions
{
    std::string model; ///< As given: a path to a GGUF file.
    ServerOptions server;
    RunnerOptions runner; ///< modelPath and the group's endpoints are set later.
    bool hostGiven = false;
    int tensorParallel = 1;
    int pipelineParallel = 0; ///< 0: not given; 1, or with workers one stage for each.
    std::string dtype = "auto"; ///< Recorded: the file's own types are what is computed with.
    std::vector<std::string>
        workers; ///< host:port of `slipway-engine worker`s, in the order of their stages.
    std::string workerToken;
    std::chrono::milliseconds workerTimeout{
        30'000}; ///< For all workers to be there; at each forming of the group.
    std::chrono::milliseconds stepDeadline{120'000};
    std::string logLevel = "info";
    bool logRequests = false;
    bool help = false;
    bool allowLongContext = false; ///< VLLM_ALLOW_LONG_MAX_MODEL_LEN=1.
    std::vector<std::string> warnings; ///< One line each, to be logged.
};

} // namespace engine
