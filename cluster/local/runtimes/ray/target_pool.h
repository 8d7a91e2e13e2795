#pragma once

#include "cluster/local/runtimes/ray/ray_values.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cluster::local {

/// A place at a replica; given back when the last owner lets go of it.
class TargetLease;

/// Spreads requests over replicas: the one with the fewest in hand, none above its limit; what finds no place
/// waits, first come first served. One thread.
class TargetPool : public std::enable_shared_from_this<TargetPool>
{
public:
    using Waiter = std::function<void(std::shared_ptr<TargetLease>)>;

    void setTargets(std::vector<ServeTarget> targets);
    /// Calls `ready` now or later. \param isWanted  asked when its turn comes: false passes it over
    /// \param deployment  only replicas of this one; empty: any
    void acquire(const std::string &deployment, std::function<bool()> isWanted, Waiter ready);
    [[nodiscard]] bool isEmpty() const { return m_targets.empty(); }
    [[nodiscard]] std::size_t waitingCount() const { return m_waiting.size(); }
    /// In hand and waiting, by replica; those that wait are counted for the first one.
    void addOngoing(std::map<std::string, int> &counts) const;

private:
    friend class TargetLease;
    struct Waiting
    {
        std::string deployment;
        std::function<bool()> isWanted;
        Waiter ready;
    };
    void release(const std::string &replica);
    void dispatch();
    [[nodiscard]] const ServeTarget *best(const std::string &deployment) const;

    std::vector<ServeTarget> m_targets;
    std::map<std::string, int> m_ongoing;
    std::deque<Waiting> m_waiting;
    bool m_isDispatching = false;
};

class TargetLease
{
public:
    TargetLease(std::weak_ptr<TargetPool> pool, ServeTarget target);
    ~TargetLease();
    TargetLease(const TargetLease &) = delete;
    TargetLease &operator=(const TargetLease &) = delete;
    [[nodiscard]] const ServeTarget &target() const { return m_target; }

private:
    std::weak_ptr<TargetPool> m_pool;
    ServeTarget m_target;
};

} // namespace cluster::local
