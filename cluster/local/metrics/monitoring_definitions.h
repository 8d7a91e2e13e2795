#pragma once

#include "cluster/base/result.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace cluster {
class KubeClient;
}

namespace cluster::local {

/// The CustomResourceDefinitions of Managed Prometheus that its collection here follows: PodMonitoring and
/// ClusterPodMonitoring of monitoring.googleapis.com/v1, with the fields, limits and defaults of GKE's.
std::vector<nlohmann::json> monitoringDefinitions();

/// As GKE does for each cluster with managed collection. They are served within a second or so.
Status installMonitoringDefinitions(KubeClient &client);

} // namespace cluster::local
