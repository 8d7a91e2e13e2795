#pragma once

#include "cluster/local/runtimes/ray/serve_state.h"

#include <functional>
#include <string>
#include <vector>

namespace cluster::local {

/// A living node, for the choice of where replicas go.
struct ServeNode
{
    std::string id, ip, name;
    bool isHead = false;
    RayResources resources; ///< in total
};

/// What the controller has done by the cluster's nodes. None of these fails: a node that can't is lost, or
/// reports the replica as failed.
class ServeNodes
{
public:
    virtual ~ServeNodes() = default;
    [[nodiscard]] virtual std::vector<ServeNode> alive() const = 0;
    virtual void startReplica(const std::string &node, const ServeReplicaSpec &spec) = 0;
    virtual void stopReplica(const std::string &node, const std::string &replica) = 0;
    /// Whom a replica may call: running replicas of the deployments that it names as outbound.
    virtual void setPeers(const std::string &node, const std::string &replica,
                          const std::vector<ServeTarget> &targets)
        = 0;
    virtual void setProxy(const std::string &node, const ServeProxyPlan &plan) = 0;
};

/// Serve's controller: makes what a config asks for, one step of its control loop at a time. Never asks the
/// clock itself. One thread.
class ServeController
{
public:
    ServeController(ServeNodes &nodes, RayVariable variable, RayTimings timings);

    void apply(const ServeConfig &config, RayClock::time_point now);
    /// DELETE: everything ends; `done` is called when nothing is left.
    void shutDown(RayClock::time_point now, std::function<void()> done);
    void step(RayClock::time_point now);

    void onReplicaReady(const ServeReplicaReady &ready, RayClock::time_point now);
    void onReplicaFailed(const std::string &replica, const std::string &error, RayClock::time_point now);
    void onProxyReady(const std::string &node, RayClock::time_point now);
    /// \param node  that counted it: what it does not name, it has no requests for.
    void onTraffic(const std::string &node, const ServeTraffic &traffic);
    /// Its replicas don't answer any more, whether or not it is known to be dead yet.
    void onNodeLost(const std::string &node, RayClock::time_point now);

    [[nodiscard]] const ServeState &state() const { return m_state; }
    /// What replicas hold of a node's resources.
    [[nodiscard]] RayResources usedOn(const std::string &node) const;

private:
    void build(ServeApp &app, RayClock::time_point now);
    void adopt(ServeApp &app, const AppBlueprint &blueprint, RayClock::time_point now);
    void reconcile(ServeApp &app, ServeDeployment &deployment, RayClock::time_point now);
    void addReplica(ServeApp &app, ServeDeployment &deployment, RayClock::time_point now);
    void place(ServeDeployment &deployment, ServeReplica &replica, RayClock::time_point now);
    void stop(ServeReplica &replica, RayClock::time_point now);
    void dropStopped(ServeDeployment &deployment, RayClock::time_point now);
    void scale(ServeDeployment &deployment, RayClock::time_point now);
    void judge(ServeDeployment &deployment, RayClock::time_point now);
    void judge(ServeApp &app);
    void publishPeers(ServeApp &app);
    void stepProxies(RayClock::time_point now);
    void endWhenEmpty();
    [[nodiscard]] ServeProxyPlan planFor(bool isDraining) const;
    [[nodiscard]] std::vector<std::string> roomFor(const ServeDeployment &deployment) const;
    struct Found
    {
        ServeApp *app = nullptr;
        ServeDeployment *deployment = nullptr;
        ServeReplica *replica = nullptr;
    };
    Found find(const std::string &replica);

    ServeNodes &m_nodes;
    RayVariable m_variable;
    RayTimings m_timings;
    ServeState m_state;
    bool m_isPopulated = false;
    std::map<std::string, std::vector<ServeTarget>> m_peers; ///< as last told, by replica
    std::vector<std::function<void()>> m_whenEnded;
};

} // namespace cluster::local
