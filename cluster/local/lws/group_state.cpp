#include "cluster/local/lws/group_state.h"

#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/nodes/json_access.h"

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

bool isReadyPod(const Json &pod)
{
    for (const Json &condition : at(at(pod, "status"), "conditions")) {
        if (text(condition, "type") == "Ready")
            return text(condition, "status") == "True";
    }
    return false;
}

bool isRunningAndReady(const Json &pod)
{
    return text(at(pod, "status"), "phase") == "Running" && isReadyPod(pod);
}

bool isReadyStatefulSet(const Json &statefulSet)
{
    const Json &status = at(statefulSet, "status");
    return integerOf(at(statefulSet, "spec"), "replicas", 1) == integerOf(status, "availableReplicas")
        && text(status, "currentRevision") == text(status, "updateRevision");
}

const Json &namedObject(const std::vector<Json> &objects, const std::string &name)
{
    static const Json none;
    for (const Json &object : objects) {
        if (text(at(object, "metadata"), "name") == name)
            return object;
    }
    return none;
}

std::vector<GroupState> groupStates(const LwsSpec &spec, const GroupObjects &objects, std::int64_t count,
                                    const std::string &revisionKey)
{
    std::vector<GroupState> states;
    for (std::int64_t group = 0; group < count; ++group) {
        const std::string name = spec.name + "-" + std::to_string(group);
        const Json &leader = namedObject(objects.leaders, name);
        const Json &workers = namedObject(objects.statefulSets, name);
        const bool isWhole = !leader.is_null() && (!spec.hasWorkers() || !workers.is_null());
        states.push_back(
            {isWhole && isRunningAndReady(leader) && (!spec.hasWorkers() || isReadyStatefulSet(workers)),
             isWhole && labelOf(leader, lws_keys::revision) == revisionKey
                 && (!spec.hasWorkers() || labelOf(workers, lws_keys::revision) == revisionKey)});
    }
    return states;
}

} // namespace cluster::local
