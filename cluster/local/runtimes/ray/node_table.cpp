#include "cluster/local/runtimes/ray/node_table.h"

#include <algorithm>

namespace cluster::local {

std::string RayNode::stateMessage() const
{
    if (!death)
        return {};
    return *death == RayDeath::SigTerm
        ? "Expected termination: received SIGTERM"
        : "Unexpected termination: health check failed due to missing too many heartbeats";
}

std::string NodeTable::add(RayNodeFacts facts, bool isHead, RayClock::time_point now)
{
    // The dead of a place are kept for the pages, but not for ever.
    constexpr std::size_t mostDead = 100;
    const auto isDead = [](const RayNode &node) { return !node.isAlive(); };
    if (static_cast<std::size_t>(std::count_if(m_nodes.begin(), m_nodes.end(), isDead)) >= mostDead)
        m_nodes.erase(std::find_if(m_nodes.begin(), m_nodes.end(), isDead));
    RayNode node;
    node.id = randomHex(56);
    node.facts = std::move(facts);
    node.facts.labels["ray.io/node-id"] = node.id;
    node.isHead = isHead;
    node.startMs = millisecondsSinceEpoch();
    node.lastSign = now;
    m_nodes.push_back(std::move(node));
    return m_nodes.back().id;
}

RayNode *NodeTable::findMine(const std::string &id)
{
    const auto found
        = std::find_if(m_nodes.begin(), m_nodes.end(), [&id](const RayNode &node) { return node.id == id; });
    return found == m_nodes.end() ? nullptr : &*found;
}

const RayNode *NodeTable::find(const std::string &id) const
{
    return const_cast<NodeTable *>(this)->findMine(id);
}

void NodeTable::onSign(const std::string &id, const RayNodeStats &stats, RayClock::time_point now)
{
    if (RayNode *node = findMine(id); node != nullptr && node->isAlive()) {
        node->stats = stats;
        node->lastSign = now;
    }
}

void NodeTable::onBye(const std::string &id)
{
    RayNode *node = findMine(id);
    if (node == nullptr || !node->isAlive())
        return;
    node->death = RayDeath::SigTerm;
    node->endMs = millisecondsSinceEpoch();
    m_ended.push_back(id);
}

void NodeTable::onConnectionLost(const std::string &id, RayClock::time_point now)
{
    if (RayNode *node = findMine(id); node != nullptr && node->isAlive())
        node->lostAt = now;
}

NodeChanges NodeTable::step(RayClock::time_point now)
{
    NodeChanges changes;
    changes.dead = std::exchange(m_ended, {});
    changes.unreachable = changes.dead;
    for (RayNode &node : m_nodes) {
        if (!node.isAlive() || node.isHead)
            continue;
        const bool isLost = node.lostAt && *node.lostAt + m_timings.lostNode <= now;
        const bool isHung = node.lastSign + m_timings.hungNode <= now;
        const bool isOut = node.lostAt && *node.lostAt + m_timings.lostReplica <= now;
        if ((isOut || isLost || isHung) && !node.isUnreachable) {
            node.isUnreachable = true;
            changes.unreachable.push_back(node.id);
        }
        if (isLost || isHung) {
            node.death = RayDeath::Heartbeats;
            node.endMs = millisecondsSinceEpoch();
            changes.dead.push_back(node.id);
        }
    }
    return changes;
}

} // namespace cluster::local
