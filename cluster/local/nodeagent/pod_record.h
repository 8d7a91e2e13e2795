#pragma once

#include "cluster/local/nodeagent/pod_spec.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// How a container ended.
struct ContainerEnd
{
    int exitCode = 0; ///< 128 + signal where a signal ended it
    int signal = 0;
    std::string reason; ///< "Completed", "Error", "OOMKilled", "StartError", "ContainerStatusUnknown"
    std::string message;
    Time startedAt, finishedAt;
    std::string containerId;
};

enum class ContainerPhase {
    Waiting, ///< not started yet, or between two runs
    Starting, ///< being prepared; kubelet still says Waiting
    Running,
    Ended, ///< `end` says how
};

/// What is known of one container; kept from run to run.
struct ContainerRecord
{
    ContainerPhase phase = ContainerPhase::Waiting;
    std::string waitingReason; ///< "ErrImagePull", "CreateContainerConfigError", …; empty: by the pod's state
    std::string waitingMessage;
    Time retryAt; ///< of a start that failed; in the past: at once
    Time startedAt;
    std::string containerId; ///< of the current or last run
    std::optional<ContainerEnd> end; ///< of the last run, if it has ended
    std::optional<ContainerEnd> previousEnd; ///< of the run before the current one: lastState
    int restarts = 0;
    bool hasRun = false;
    bool isReady = false;
    bool isStarted = false; ///< startup probe passed, or none
    bool isStopping = false; ///< its end was ordered
    std::chrono::seconds backoff{0}; ///< the wait after the next end; 0: none yet
    Time backoffSet; ///< when it was last raised
};

/// Why the pod as a whole is over, though its containers may still run.
struct PodVerdict
{
    std::string reason; ///< "DeadlineExceeded", "Evicted", "Terminated"
    std::string message;
    std::optional<std::int64_t> grace = std::nullopt; ///< seconds for its containers, where below the pod's
    bool isDisruption = false; ///< worth a condition DisruptionTarget
    bool isKnown = false; ///< it comes from the API server: to be said at once, as there
    Time since = {};
};

enum class SandboxState { None, Preparing, Ready };

enum class ConditionKind { ReadyToStart, Initialized, Ready, ContainersReady };

struct PodRecord
{
    std::vector<ContainerRecord> containers; ///< as in the spec
    SandboxState sandbox = SandboxState::None; ///< address and volumes
    Time sandboxRetryAt;
    Time startTime; ///< when the agent first saw it
    std::string podIp, hostIp;
    std::optional<PodVerdict> verdict;
    bool isTornDown = false; ///< nothing of it is left
    struct Condition
    {
        bool isTrue = false;
        Time since;
    };
    std::array<std::optional<Condition>, 4> conditions; ///< by ConditionKind, for their transition times
};

} // namespace cluster::local
