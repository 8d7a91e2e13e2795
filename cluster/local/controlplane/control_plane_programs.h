#pragma once

#include "cluster/base/result.h"

#include <filesystem>
#include <string>
#include <vector>

namespace cluster::local {

/// Folders that may hold the programs, best first: `../libexec/slipway` beside `ownProgram` (an installed
/// package), $SLIPWAY_CONTROLPLANE_DIR, and the finished builds in the user's cache
/// (packaging/setup/controlplane.sh).
std::vector<std::filesystem::path> controlPlaneFolders(const std::filesystem::path &ownProgram);

/// The names of the programs, in start order.
std::vector<std::string> controlPlaneProgramNames(bool controllers, bool ray);

/// The first folder that has them all. FailedPrecondition: none has; says what is missing, and the command
/// for it.
Result<std::filesystem::path> findControlPlanePrograms(const std::vector<std::filesystem::path> &folders,
                                                       bool controllers = true, bool ray = true);

} // namespace cluster::local
