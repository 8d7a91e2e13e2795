#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/local/daemon/daemon_state.h"
#include "cluster/net/http_client.h"

#include <string>
#include <vector>

namespace slipwayctl {

/// True if a daemon holds the folder and answers, or goes on holding it without.
bool isServing(const cluster::local::LocalPaths &paths, cluster::HttpClient &http);

/// Starts slipwayd (beside `programPath`, else on PATH) so that it outlives this program, and waits until it
/// answers. Errors: NotFound (no slipwayd), FailedPrecondition with its last words when it ends instead,
/// DeadlineExceeded, Cancelled.
cluster::Result<cluster::local::DaemonState> startDaemon(const std::string &programPath,
                                                         const cluster::local::LocalPaths &paths,
                                                         std::vector<std::string> arguments,
                                                         cluster::HttpClient &http,
                                                         const cluster::CancelToken &cancel);

/// Asks it to end its clusters and itself, and waits until it has; what doesn't end in time is killed.
/// False if none ran.
cluster::Result<bool> stopDaemon(const cluster::local::LocalPaths &paths, cluster::HttpClient &http,
                                 const cluster::CancelToken &cancel);

} // namespace slipwayctl
