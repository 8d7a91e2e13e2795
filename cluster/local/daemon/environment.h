#pragma once

#include "cluster/local/daemon/daemon_state.h"

#include <string>
#include <utility>
#include <vector>

namespace cluster::local {

/// What gcloud, gke-gcloud-auth-plugin, kubectl and curl need in order to talk to the local target instead of
/// Google: names and values of environment variables, in a fixed order. Found by recording what the real
/// gcloud 528 reads.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
environmentFor(const LocalPaths &paths, const DaemonState &state, const std::string &token);

} // namespace cluster::local
