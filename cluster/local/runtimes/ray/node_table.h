#pragma once

#include "cluster/local/runtimes/ray/ray_values.h"

#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

enum class RayDeath { SigTerm, Heartbeats };

/// A node as the head knows it, also after its death.
struct RayNode
{
    std::string id; ///< 56 hex digits
    RayNodeFacts facts;
    bool isHead = false;
    std::optional<RayDeath> death;
    std::int64_t startMs = 0, endMs = 0; ///< since the epoch
    RayNodeStats stats;
    RayClock::time_point lastSign; ///< of life
    std::optional<RayClock::time_point> lostAt; ///< its connection broke, without a word
    bool isUnreachable = false; ///< has been told to Serve

    [[nodiscard]] bool isAlive() const { return !death; }
    /// "Expected termination: received SIGTERM"; empty while it lives.
    [[nodiscard]] std::string stateMessage() const;
};

/// What has changed in a step of the table.
struct NodeChanges
{
    std::vector<std::string> unreachable; ///< replicas there are to be replaced
    std::vector<std::string> dead;
};

/// The nodes of a cluster, and Ray's delays in noticing that one has gone: at once where it said so, after
/// 15 s where its connection broke, after 64 s where it hangs. One thread; never asks the clock itself.
class NodeTable
{
public:
    explicit NodeTable(RayTimings timings) : m_timings(timings) {}

    /// Returns the new node's id.
    std::string add(RayNodeFacts facts, bool isHead, RayClock::time_point now);
    void onSign(const std::string &id, const RayNodeStats &stats, RayClock::time_point now);
    void onBye(const std::string &id); ///< it was asked to end
    void onConnectionLost(const std::string &id, RayClock::time_point now);
    NodeChanges step(RayClock::time_point now);

    [[nodiscard]] const std::vector<RayNode> &all() const { return m_nodes; }
    [[nodiscard]] const RayNode *find(const std::string &id) const;

private:
    RayNode *findMine(const std::string &id);

    RayTimings m_timings;
    std::vector<RayNode> m_nodes; ///< in the order in which they came
    std::vector<std::string> m_ended; ///< since the last step
};

} // namespace cluster::local
