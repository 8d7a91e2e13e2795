#pragma once

#include "cluster/kube/informer.h"
#include "cluster/local/nodes/autoscaler.h"
#include "cluster/local/nodes/background_tasks.h"
#include "cluster/local/nodes/event_writer.h"
#include "cluster/local/nodes/node_writer.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace cluster::local {

class Autoscaler::Private
{
public:
    Private(KubeClient &client, PoolScaler &scaler, AutoscalerOptions options);
    ~Private();

    void wake();

private:
    using Clock = std::chrono::steady_clock;

    /// A change of one pool, and the pods it is for.
    struct ScaleUp
    {
        PoolSpec pool; ///< as it will be
        int before = 0; ///< nodes
        bool isNew = false;
        std::string key; ///< for back-off: the pool's name, or the wish's
        std::vector<PodNeeds> pods;
        double waste = 0; ///< cores that would stay idle
        NodeTemplate node; ///< a new node before anything runs on it
        std::vector<NodeRoom> rooms; ///< of the new nodes, with those pods on them
    };

    /// Nodes on their way, or here so lately that the scheduler may not have used them yet.
    struct Coming
    {
        NodeTemplate node;
        std::vector<NodeRoom> rooms;
        std::vector<PodNeeds> pods; ///< that will run there
        Clock::time_point until = Clock::time_point::max();
    };

    void run();

    // Scaling up, in scale_up.cpp
    void scaleUp();
    std::vector<PodNeeds> pendingPods();
    void addTolerations(PodNeeds &pod);
    std::optional<ScaleUp> bestExisting(const std::vector<PodNeeds> &pods,
                                        const std::vector<PoolSpec> &pools);
    std::optional<ScaleUp> growth(const PoolSpec &pool, const std::vector<PodNeeds> &pods);
    std::optional<ScaleUp> creation(const std::vector<PodNeeds> &pods);
    nlohmann::json computeClassOf(const PodNeeds &pod);
    bool willHaveRoom(const PodNeeds &pod);
    void start(ScaleUp change);
    void finish(const ScaleUp &change, const Status &done);
    void sayWhyNot(const PodNeeds &pod, const std::vector<PoolSpec> &pools);
    void say(const PodNeeds &pod, bool isWarning, const char *reason, const std::string &message);
    bool isBusy(const std::string &key);
    std::string groupUrl(const PoolSpec &pool) const;
    std::string newPoolName(const PoolSpec &pool);

    // Scaling down, in scale_down.cpp
    void scaleDown();
    void scaleDown(const PoolSpec &pool);
    std::vector<std::string> nodesOf(const std::string &pool);
    std::vector<std::string> unneeded(const PoolSpec &pool, const std::vector<std::string> &nodes);
    void takeAway(const PoolSpec &pool, std::vector<std::string> nodes);

    KubeClient &m_client;
    PoolScaler &m_scaler;
    const AutoscalerOptions m_options;
    NodeWriter m_writer;
    EventWriter m_events;
    CancelSource m_cancel;

    std::mutex m_mutex; ///< guards down to m_wantsScan
    std::condition_variable_any m_woken;
    struct Help
    {
        Clock::time_point until; ///< it is not looked at again before
        int count = 0;
    };
    std::map<std::string, Help> m_helped; ///< by pod's uid
    std::map<std::string, Clock::time_point> m_backoff; ///< by key: not before
    std::set<std::string> m_busy; ///< pools that are being changed
    std::map<std::string, Coming> m_coming; ///< by pool
    bool m_wantsScan = false;

    // The thread's own
    std::map<std::string, Clock::time_point> m_idleSince; ///< by node
    std::map<std::string, std::pair<std::string, Clock::time_point>> m_saidWhyNot; ///< by pod's uid
    Clock::time_point m_nextScaleDown;
    std::uint64_t m_poolCounter = 0;

    BackgroundTasks m_changes;
    std::unique_ptr<Informer> m_pods;
    std::jthread m_thread; ///< last: it uses all the others
};

} // namespace cluster::local
