#include "cluster/local/lws/restart_rules.h"

#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/nodes/json_access.h"

#include <algorithm>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::isGoing;
using json_access::text;

namespace {

bool wasRestarted(const Json &pod)
{
    const Json &status = at(pod, "status");
    const std::string phase = text(status, "phase");
    if (phase != "Running" && phase != "Pending")
        return false;
    for (const char *list : {"initContainerStatuses", "containerStatuses"}) {
        for (const Json &container : at(status, list)) {
            if (integerOf(container, "restartCount") > 0)
                return true;
        }
    }
    return false;
}

/// Some of its pods are missing or have not started yet.
bool isStarting(const std::vector<Json> &pods, std::int64_t size)
{
    return static_cast<std::int64_t>(pods.size()) != size || std::ranges::any_of(pods, [](const Json &pod) {
               return text(at(pod, "status"), "phase") == "Pending";
           });
}

bool isControlledBy(const Json &object, const char *kind, const Json &owner)
{
    const Json &reference = controllerOf(object);
    return owner.is_object() && text(reference, "kind") == kind
        && text(reference, "name") == text(at(owner, "metadata"), "name")
        && text(reference, "uid") == text(at(owner, "metadata"), "uid");
}

/// Not one that an earlier leader of the same name left behind.
bool isWorkerOf(const Json &pod, const RestartGroup &group)
{
    return isControlledBy(pod, "Pod", group.leader)
        || (isControlledBy(pod, "StatefulSet", group.workers)
            && isControlledBy(group.workers, "Pod", group.leader));
}

} // namespace

bool isLost(const Json &pod)
{
    return isGoing(pod) || wasRestarted(pod);
}

bool endsItsGroup(const Json &pod, const LwsSpec &spec)
{
    const bool recreates = spec.restartPolicy == "RecreateGroupOnPodRestart"
        || spec.restartPolicy == "RecreateGroupAfterStart";
    return recreates && isLost(pod);
}

RestartVerdict restartVerdict(const Json &lws, const Json &pod, const RestartGroup &group)
{
    const LwsSpec spec = lwsSpec(lws);
    const bool waitsForStart = spec.restartPolicy == "RecreateGroupAfterStart"
        || at(at(lws, "metadata"), "annotations").contains(lws_keys::recreateAfterStart);
    if (waitsForStart && isStarting(group.pods, spec.size))
        return RestartVerdict::Keep;
    const bool isLeader = labelOf(pod, lws_keys::workerIndex) == "0";
    if (!isLeader) {
        const bool isOfRevision
            = labelOf(group.leader, lws_keys::revision) == labelOf(pod, lws_keys::revision);
        if (group.leader.is_null() || !isOfRevision || !isWorkerOf(pod, group))
            return RestartVerdict::Keep;
    }
    return isGoing(isLeader ? pod : group.leader) ? RestartVerdict::LeaderIsGoing
                                                  : RestartVerdict::DeleteLeader;
}

} // namespace cluster::local
