#include "cluster/local/runtimes/ray/target_pool.h"

#include <algorithm>
#include <utility>

namespace cluster::local {

TargetLease::TargetLease(std::weak_ptr<TargetPool> pool, ServeTarget target)
    : m_pool(std::move(pool)), m_target(std::move(target))
{
}

TargetLease::~TargetLease()
{
    if (const auto pool = m_pool.lock())
        pool->release(m_target.replica);
}

void TargetPool::setTargets(std::vector<ServeTarget> targets)
{
    m_targets = std::move(targets);
    dispatch();
}

void TargetPool::acquire(const std::string &deployment, std::function<bool()> isWanted, Waiter ready)
{
    m_waiting.push_back({deployment, std::move(isWanted), std::move(ready)});
    dispatch();
}

const ServeTarget *TargetPool::best(const std::string &deployment) const
{
    const ServeTarget *found = nullptr;
    int fewest = 0;
    for (const ServeTarget &target : m_targets) {
        const auto known = m_ongoing.find(target.replica);
        const int ongoing = known == m_ongoing.end() ? 0 : known->second;
        const bool isFull = target.maxOngoing > 0 && ongoing >= target.maxOngoing;
        const bool isOther = !deployment.empty() && target.deployment != deployment;
        if (isFull || isOther || (found != nullptr && ongoing >= fewest))
            continue;
        found = &target;
        fewest = ongoing;
    }
    return found;
}

void TargetPool::dispatch()
{
    if (std::exchange(m_isDispatching, true))
        return; // from a waiter's own call: the loop below goes on
    for (auto waiting = m_waiting.begin(); waiting != m_waiting.end();) {
        if (waiting->isWanted && !waiting->isWanted()) {
            waiting = m_waiting.erase(waiting);
            continue;
        }
        const ServeTarget *target = best(waiting->deployment);
        if (target == nullptr) {
            ++waiting;
            continue;
        }
        ++m_ongoing[target->replica];
        auto lease = std::make_shared<TargetLease>(weak_from_this(), *target);
        const Waiter ready = std::move(waiting->ready);
        m_waiting.erase(waiting);
        ready(std::move(lease));
        waiting = m_waiting.begin(); // it may have changed all
    }
    m_isDispatching = false;
}

void TargetPool::release(const std::string &replica)
{
    const auto found = m_ongoing.find(replica);
    if (found != m_ongoing.end() && --found->second <= 0)
        m_ongoing.erase(found);
    dispatch();
}

void TargetPool::addOngoing(std::map<std::string, int> &counts) const
{
    for (const auto &[replica, count] : m_ongoing)
        counts[replica] += count;
    if (!m_targets.empty() && !m_waiting.empty())
        counts[m_targets.front().replica] += static_cast<int>(m_waiting.size());
}

} // namespace cluster::local
