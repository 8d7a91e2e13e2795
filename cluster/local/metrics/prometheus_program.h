#pragma once

#include "cluster/base/result.h"

#include <filesystem>

namespace cluster::local {

/// The real Prometheus of this machine: $SLIPWAY_PROMETHEUS (and then no other), `../libexec/slipway` beside
/// `ownProgram`, the user's cache (packaging/setup/test-tools.sh), $PATH. FailedPrecondition: there is none;
/// says what to install.
Result<std::filesystem::path> findPrometheus(const std::filesystem::path &ownProgram);

} // namespace cluster::local
