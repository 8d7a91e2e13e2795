#include "cluster/local/tpuwebhook/group_pods.h"

#include "cluster/local/nodes/json_access.h"
#include "cluster/local/tpuwebhook/tpu_demand.h"

#include <algorithm>
#include <thread>

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

constexpr std::chrono::milliseconds patience{1000};
constexpr std::chrono::milliseconds betweenLooks{20};

std::string firstWorkerId(const Json &spec)
{
    const TpuDemand demand = tpuDemand(spec);
    if (demand.isEmpty())
        return {};
    std::string id;
    for (const Json &variable : at(at(spec, "containers").at(demand.containers.front()), "env")) {
        if (text(variable, "name") == "TPU_WORKER_ID")
            id = text(variable, "value");
    }
    return id;
}

} // namespace

Result<std::vector<Json>> GroupPods::list(const RayGroup &group)
{
    KubeListOptions which;
    which.labelSelector = "ray.io/cluster=" + group.cluster + ",ray.io/group=" + group.group;
    KubeCallOptions call;
    call.cancel = m_stopping.get_token();
    auto found = m_client.list(coreV1("pods", group.nameSpace), which, call);
    if (!found)
        return tl::unexpected(found.error());
    return std::move(found->items);
}

bool GroupPods::isAmong(const Place &place, const std::vector<Json> &pods)
{
    return std::ranges::any_of(pods, [&](const Json &pod) {
        return text(at(at(pod, "metadata"), "labels"), "replicaIndex") == place.replicaIndex
            && firstWorkerId(at(pod, "spec")) == place.workerId;
    });
}

Result<std::vector<Json>> GroupPods::of(const RayGroup &group)
{
    while (true) {
        auto pods = list(group);
        const bool isAwaited = m_last && m_last->nameSpace == group.nameSpace
            && m_last->cluster == group.cluster && m_last->replicaIndex.starts_with(group.group + "-");
        const bool isLate = !isAwaited || std::chrono::steady_clock::now() - m_last->since > patience;
        if (!pods || isLate || isAmong(*m_last, *pods) || m_stopping.stop_requested())
            return pods;
        std::this_thread::sleep_for(betweenLooks);
    }
}

void GroupPods::admitted(const std::string &nameSpace, const Json &pod, const Json &patch)
{
    if (patch.empty())
        return;
    try {
        const Json stored = pod.patch(patch);
        const Json &labels = at(at(stored, "metadata"), "labels");
        const std::string index = text(labels, "replicaIndex");
        if (!index.empty())
            m_last = Place{nameSpace, text(labels, "ray.io/cluster"), index,
                           firstWorkerId(at(stored, "spec")), std::chrono::steady_clock::now()};
    } catch (const Json::exception &) {
        m_last.reset(); // the apiserver will refuse it too
    }
}

} // namespace cluster::local
