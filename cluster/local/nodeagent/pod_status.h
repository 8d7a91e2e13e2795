#pragma once

#include "cluster/local/nodeagent/pod_record.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cluster::local {

/// "Pending", "Running", "Succeeded" or "Failed", by kubelet's rules.
std::string podPhase(const PodSpec &pod, const PodRecord &record);

/// The status kubelet would write, for a strategic merge patch: what has to go is null. Notes in the record
/// when conditions changed.
nlohmann::json podStatus(const PodSpec &pod, PodRecord &record, Time now);

/// What the API server's status says of an earlier life of the pod, after the agent has been away: containers
/// that ran are lost unless `areSimulated`.
PodRecord recordFromStatus(const PodSpec &pod, Time now, bool areSimulated);

/// Why logs or exec of this container have to wait, in kubelet's words ("ContainerCreating"); empty: it runs
/// or has run.
std::string waitingReason(const PodSpec &pod, const PodRecord &record, std::size_t container);

} // namespace cluster::local
