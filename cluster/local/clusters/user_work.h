#pragma once

namespace cluster {
class KubeClient;
}

namespace cluster::local {

/// Whether anything of a user's runs in a cluster, or is to run: pods outside of kube-system that have not
/// ended, or CronJobs that are not suspended. Also true if the API server can't say. Blocks for a few seconds
/// at most.
[[nodiscard]] bool hasUserWork(KubeClient &client);

} // namespace cluster::local
