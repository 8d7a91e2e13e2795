#pragma once

#include "cluster/base/result.h"
#include "engine/commandline/serve_options.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace engine {

/// An environment variable's value; a parameter so that tests have their own environment.
using Environment = std::function<std::optional<std::string>(const std::string &name)>;

/// `slipway-engine serve MODEL [flags]`, in vLLM's words (0.8.5 and newer; contracts of both). Reads
/// --config,
/// --chat-template and --worker-token-file files, VLLM_API_KEY, SLIPWAY_API_KEYS (one a
/// line: what --api-key names, off the command line), VLLM_LOGGING_LEVEL, VLLM_ALLOW_LONG_MAX_MODEL_LEN,
/// VLLM_ENGINE_ITERATION_TIMEOUT_S and SLIPWAY_WORKER_TOKEN. Errors: InvalidArgument or NotFound, one line
/// that names the flag.
[[nodiscard]] cluster::Result<ServeOptions> parseServe(const std::vector<std::string> &arguments,
                                                       const Environment &environment);

[[nodiscard]] std::string serveHelp();

} // namespace engine
