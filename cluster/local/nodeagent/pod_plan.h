#pragma once

#include "cluster/local/nodeagent/pod_record.h"

#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

struct BackoffRules
{
    std::chrono::seconds first{10};
    std::chrono::seconds longest{300};
    double timeScale = 1; ///< waits are divided by it; what is told stays the same
};

struct PodAction
{
    enum class Kind {
        PrepareSandbox,
        Start, ///< `container`
        BackOff, ///< `container` waits for its next run: worth an event
        Stop, ///< `container`, within `graceSeconds`
        Fail, ///< the pod's deadline has passed
        TearDown, ///< all containers have ended for good: free address and volumes
    };
    Kind kind;
    std::size_t container = 0;
    std::int64_t graceSeconds = 0;
};

/// What to do for a pod now, and when to ask again without anything having happened.
struct PodPlan
{
    std::vector<PodAction> actions;
    std::optional<Time> wakeAt;
};

/// Kubelet's rules as a function of what is wanted, what runs and the time; the caller carries the actions
/// out and notes their effects in the record before it asks again. Init containers in order, sidecars before
/// and beside the others and ended after them, restarts by policy with back-off, deadline, deletion.
PodPlan planPod(const PodSpec &pod, const PodRecord &record, Time now, const BackoffRules &rules = {});

/// The end of a run as the record keeps it; `wasStarted`: kubelet's first back-off comes with the first
/// restart.
void noteEnd(ContainerRecord &container, ContainerEnd end);

/// The begin of a run: counts restarts and raises the back-off, which starts anew after twice its longest.
void noteStart(ContainerRecord &container, Time now, const BackoffRules &rules = {});

/// Whether a container that ended like this is run again in a pod that goes on.
bool isRestarted(const PodSpec &pod, const ContainerSpec &container, const ContainerEnd &end);

/// All init containers have ended well and all sidecars have started.
bool isInitialized(const PodSpec &pod, const PodRecord &record);

/// Nothing of it runs or is being started.
bool isIdle(const PodRecord &record);

/// Seconds that containers of a pod that ends are given.
std::int64_t graceOf(const PodSpec &pod, const PodRecord &record);

/// While it waits between two runs: until when. Nothing otherwise.
std::optional<Time> backoffEnd(const PodSpec &pod, const ContainerSpec &container,
                               const ContainerRecord &record, Time now, const BackoffRules &rules);

} // namespace cluster::local
