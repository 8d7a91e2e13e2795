// Nodes that nobody uses go.

#include "cluster/local/nodes/autoscaler_private.h"
#include "cluster/local/nodes/node_object.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

const NodeTaint toBeDeleted{"ToBeDeletedByClusterAutoscaler", "", "NoSchedule"};

} // namespace

void Autoscaler::Private::scaleDown()
{
    for (const PoolSpec &pool : m_scaler.pools()) {
        if (m_cancel.stop_requested())
            return;
        const bool isOurs = pool.isAutoscaled || pool.isAutoCreated;
        const bool isAboveMinimum
            = pool.nodeCount > pool.minNodes || (pool.isAutoCreated && pool.nodeCount == 0);
        if (isOurs && isAboveMinimum && !isBusy(pool.name))
            scaleDown(pool);
    }
}

void Autoscaler::Private::scaleDown(const PoolSpec &pool)
{
    const std::vector<std::string> nodes = nodesOf(pool.name);
    std::vector<std::string> going = unneeded(pool, nodes);
    // A slice goes as a whole, or not at all.
    if (pool.isMultiHost && (going.size() < nodes.size() || pool.minNodes > 0))
        return;
    const auto most = static_cast<std::size_t>(std::max(0, pool.nodeCount - pool.minNodes));
    going.resize(std::min(going.size(), most));
    const bool isLeftOver = pool.isAutoCreated && nodes.empty();
    if (!going.empty() || isLeftOver)
        takeAway(pool, std::move(going));
}

std::vector<std::string> Autoscaler::Private::nodesOf(const std::string &pool)
{
    KubeListOptions list;
    list.labelSelector = std::string(poolLabel) + '=' + pool;
    KubeCallOptions call;
    call.cancel = m_cancel.get_token();
    call.deadline = Deadline::after(std::chrono::seconds(30));
    std::vector<std::string> names;
    const Result<KubeList> nodes = m_client.list(coreV1("nodes"), list, call);
    if (!nodes)
        return names;
    for (const Json &node : nodes->items)
        names.push_back(node.at("metadata").value("name", std::string()));
    return names;
}

/// Nodes that have been without work for the whole of unneededTime.
std::vector<std::string> Autoscaler::Private::unneeded(const PoolSpec &pool,
                                                       const std::vector<std::string> &nodes)
{
    const auto now = Clock::now();
    std::vector<std::string> idle;
    bool hasBusy = false;
    for (const std::string &node : nodes) {
        // One busy host keeps its slice: the others need not be asked.
        const bool isEmpty
            = !(pool.isMultiHost && hasBusy) && m_writer.isEmpty(node, m_cancel.get_token()).value_or(false);
        if (!isEmpty) {
            hasBusy = true;
            m_idleSince.erase(node);
            continue;
        }
        const auto since = m_idleSince.try_emplace(node, now).first->second;
        if (now - since >= m_options.unneededTime)
            idle.push_back(node);
    }
    return idle;
}

void Autoscaler::Private::takeAway(const PoolSpec &pool, std::vector<std::string> nodes)
{
    const CancelToken cancel = m_cancel.get_token();
    // Marked first, then looked at again: the scheduler may have used one in between.
    std::vector<std::string> going;
    for (const std::string &node : nodes) {
        (void)m_writer.changeTaints(node, {toBeDeleted}, {}, cancel);
        if (m_writer.isEmpty(node, cancel).value_or(false))
            going.push_back(node);
        else
            (void)m_writer.changeTaints(node, {}, {toBeDeleted}, cancel);
    }
    const bool isSliceInUse = pool.isMultiHost && going.size() < nodes.size();
    if (isSliceInUse) {
        for (const std::string &node : going)
            (void)m_writer.changeTaints(node, {}, {toBeDeleted}, cancel);
    }
    if (isSliceInUse || (going.empty() && !nodes.empty()))
        return;
    for (const std::string &node : going) {
        EventText event;
        event.kind = "Node";
        event.name = node;
        event.uid = node;
        event.reason = "ScaleDown";
        event.message = "marked the node as toBeDeleted/unschedulable";
        event.component = "cluster-autoscaler";
        m_events.write(event, cancel);
        m_idleSince.erase(node);
    }
    {
        const std::lock_guard lock(m_mutex);
        m_busy.insert(pool.name);
    }
    const int left = pool.nodeCount - static_cast<int>(going.size());
    m_changes.start([this, pool, left](const CancelToken &) {
        const Status done = pool.isAutoCreated && left <= 0 ? m_scaler.deletePool(pool.name)
                                                            : m_scaler.resizePool(pool.name, left);
        const std::lock_guard lock(m_mutex);
        m_busy.erase(pool.name);
        if (!done)
            m_backoff[pool.name] = Clock::now() + m_options.failureBackoff;
    });
}

} // namespace cluster::local
