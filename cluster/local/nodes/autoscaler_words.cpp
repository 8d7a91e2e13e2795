// What the autoscaler says: events of pods, nodes and its status, and that status itself.

#include "cluster/local/nodes/autoscaler_private.h"
#include "cluster/local/nodes/node_names.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

constexpr const char *component = "cluster-autoscaler";

} // namespace

void Autoscaler::Private::write(EventText event)
{
    event.component = component;
    m_events.write(event, m_cancel.get_token());
}

void Autoscaler::Private::say(const PodNeeds &pod, bool isWarning, const char *reason,
                              const std::string &message)
{
    EventText event;
    event.kind = "Pod";
    event.space = pod.space;
    event.name = pod.name;
    event.uid = pod.uid;
    event.isWarning = isWarning;
    event.reason = reason;
    event.message = message;
    write(std::move(event));
}

void Autoscaler::Private::say(const ResidentNode &node, bool isWarning, const char *reason,
                              const std::string &message)
{
    EventText event;
    event.kind = "Node";
    event.name = node.name;
    event.uid = node.uid;
    event.isWarning = isWarning;
    event.reason = reason;
    event.message = message;
    write(std::move(event));
}

/// What concerns whole groups is told of the status ConfigMap.
void Autoscaler::Private::sayOnStatus(bool isWarning, const char *reason, const std::string &message)
{
    EventText event;
    event.kind = "ConfigMap";
    event.space = AutoscalerStatus::space;
    event.name = AutoscalerStatus::name;
    {
        const std::lock_guard lock(m_mutex);
        event.uid = m_statusUid;
    }
    event.isWarning = isWarning;
    event.reason = reason;
    event.message = message;
    write(std::move(event));
}

std::string Autoscaler::Private::groupUrl(const PoolSpec &pool, const std::string &zone) const
{
    // The instance group's name is the nodes' without their last part.
    std::string name = nodeName(m_options.cluster.project, m_options.cluster.name, pool, zone, 0);
    name.resize(name.rfind('-'));
    return "https://www.googleapis.com/compute/v1/projects/" + m_options.cluster.project + "/zones/" + zone
        + "/instanceGroups/" + name + "-grp";
}

NodeGroupState Autoscaler::Private::groupState(const PoolSpec &pool, const std::string &zone)
{
    const int zones = std::max(1, static_cast<int>(pool.zones.size()));
    NodeGroupState state;
    state.name = groupUrl(pool, zone);
    state.target = pool.nodeCount / zones;
    state.least = pool.minNodes / zones;
    state.most = pool.maxNodes / zones;
    {
        const std::lock_guard lock(m_mutex);
        const auto coming = m_coming.find(pool.name);
        state.isGrowing = coming != m_coming.end() && coming->second.until == Clock::time_point::max();
        const auto backoff = m_backoff.find(pool.name);
        if (backoff != m_backoff.end() && backoff->second.until > Clock::now()
            && !backoff->second.reason.empty()) {
            state.backoffCode = backoff->second.reason;
            state.backoffMessage = backoff->second.message;
        }
    }
    state.ready = state.target;
    if (!m_nodes || !m_nodes->synced())
        return state;
    state.ready = 0;
    for (const KubeObject &object : m_nodes->objects()) {
        const ResidentNode node = residentNode(*object);
        if (node.pool != pool.name || node.label("topology.kubernetes.io/zone") != zone)
            continue;
        ++(node.isReady ? state.ready : state.notReady);
        state.candidates += m_unneededSince.contains(node.name) ? 1 : 0;
    }
    return state;
}

/// Only where there is something to scale: a cluster without autoscaling has no autoscaler.
void Autoscaler::Private::writeStatus(const Pools &pools)
{
    std::vector<NodeGroupState> groups;
    for (const PoolSpec &pool : pools) {
        if (!pool.isAutoscaled && !pool.isAutoCreated)
            continue;
        for (const std::string &zone : pool.zones)
            groups.push_back(groupState(pool, zone));
    }
    if (groups.empty() && !m_options.createsPools && m_status.uid().empty())
        return;
    m_status.write(m_client, groups, unixTimeNow(), m_cancel.get_token());
    const std::lock_guard lock(m_mutex);
    m_statusUid = m_status.uid();
}

} // namespace cluster::local
