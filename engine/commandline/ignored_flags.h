#pragma once

#include "engine/commandline/arguments.h"

namespace engine {

/// Flags of vLLM 0.8.5 and newer that mean nothing for a GGUF model here. They are taken, with a warning, so
/// that a command line made for vLLM starts.
[[nodiscard]] std::vector<Flag> ignoredFlags();

} // namespace engine
