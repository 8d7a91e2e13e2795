#pragma once

#include "app/slipwayd/options.h"

namespace slipwayd {

/// Runs the local target until it is told to stop (SIGTERM, SIGINT, or over the wire). Errors: AlreadyExists
/// when one runs in the same folder, those of files and ports.
[[nodiscard]] cluster::Status runDaemon(const Options &options);

} // namespace slipwayd
