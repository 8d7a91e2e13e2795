#pragma once

#include "cluster/kube/informer.h"
#include "cluster/local/nodes/autoscaler.h"
#include "cluster/local/nodes/autoscaler_status.h"
#include "cluster/local/nodes/background_tasks.h"
#include "cluster/local/nodes/compute_class_status.h"
#include "cluster/local/nodes/drain_rules.h"
#include "cluster/local/nodes/event_writer.h"
#include "cluster/local/nodes/node_writer.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace cluster::local {

/// The cluster autoscaler's own taints: of a node that goes, and of one that may.
constexpr const char *toBeDeletedKey = "ToBeDeletedByClusterAutoscaler";
constexpr const char *candidateKey = "DeletionCandidateOfClusterAutoscaler";

class Autoscaler::Private
{
public:
    Private(KubeClient &client, PoolScaler &scaler, AutoscalerOptions options);
    ~Private();

    void wake();

private:
    using Clock = std::chrono::steady_clock;
    using Pools = std::vector<PoolSpec>;

    /// A change of one pool, and the pods it is for.
    struct ScaleUp
    {
        PoolSpec pool; ///< as it will be
        int before = 0; ///< nodes
        bool isNew = false;
        std::string key; ///< for back-off: the pool's name, or the wish's with its zone
        std::string ruleKey; ///< of the wish, for failures that no other zone helps
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
        std::string ruleKey;
    };

    /// What could not be had, until it is tried again.
    struct Backoff
    {
        Clock::time_point until;
        UnixTime untilTime{0}; ///< the same by the clock on the wall
        std::string reason; ///< "OutOfResources", "QuotaExceeded", "Other"
        std::string message;
    };

    /// The cluster at the moment of a scan.
    struct Scene
    {
        std::vector<ResidentNode> nodes;
        std::vector<ResidentPod> pods;
        std::map<std::string, std::vector<const ResidentPod *>> podsOf; ///< by node
    };

    /// Nodes of one pool that go together.
    struct Leaving
    {
        PoolSpec pool;
        std::vector<ResidentNode> nodes;
        bool isDrained = false; ///< pods are to be moved away first
    };

    void run();
    void scan();
    bool followPending(const Pools &pools);

    // Scaling up, in scale_up.cpp
    void scaleUp(const Pools &pools);
    std::vector<PodNeeds> pendingPods();
    void addTolerations(PodNeeds &pod);
    std::optional<ScaleUp> bestExisting(const std::vector<PodNeeds> &pods, const Pools &pools);
    std::optional<ScaleUp> growth(const PoolSpec &pool, const std::vector<PodNeeds> &pods);
    std::optional<ScaleUp> creation(const std::vector<PodNeeds> &pods);
    std::optional<ScaleUp> creation(const PoolWish &wish, const PodNeeds &pod,
                                    const std::vector<PodNeeds> &pods);
    bool willHaveRoom(const PodNeeds &pod);
    void start(ScaleUp change);
    void finish(const ScaleUp &change, const Status &done);
    void sayWhyNot(const PodNeeds &pod, const Pools &pools);
    bool isBusy(const std::string &key);
    std::string newPoolName(const PoolSpec &pool);

    // Compute classes, in class_rules.cpp
    KubeObject computeClass(const std::string &name) const;
    std::optional<ScaleUp> classChange(const std::vector<PodNeeds> &pods, const Pools &pools);
    std::optional<ScaleUp> ruleChange(const PoolWish &wish, const PodNeeds &pod, bool mayCreate,
                                      const std::vector<PodNeeds> &pods, const Pools &pools);
    bool mayCreateFor(const nlohmann::json &computeClass) const;
    bool isComing(const std::string &ruleKey);
    void reportClasses(const Pools &pools);
    RuleState ruleState(const PoolWish &rule, const Pools &pools);
    void migrate(const Scene &scene, const Pools &pools);
    bool migrateNode(const ResidentNode &node, const PoolSpec &pool, const nlohmann::json &object,
                     const Scene &scene, const Pools &pools);

    // Scaling down, in scale_down.cpp
    void scaleDown(const Pools &pools);
    bool follow(bool isWanted);
    Scene lookAround();
    void judge(const Scene &scene, const Pools &pools);
    void keepAll(const PoolSpec &pool, const Scene &scene);
    void judgePool(const PoolSpec &pool, const Scene &scene, SpareRoom &spare,
                   const std::vector<DisruptionBudget> &budgets, std::vector<Leaving> &leaving);
    std::vector<const ResidentNode *> movable(const PoolSpec &pool, const Scene &scene, SpareRoom &spare,
                                              const std::vector<DisruptionBudget> &budgets, int most);
    std::vector<DisruptionBudget> budgets();
    void noteUnneeded(const ResidentNode &node);
    void noteNeeded(const ResidentNode &node);
    bool isDue(const ResidentNode &node, const PoolSpec &pool);
    double threshold(const PoolSpec &pool, bool hasAccelerator) const;
    std::chrono::milliseconds patience(const PoolSpec &pool) const;

    // How nodes leave, in scale_down_acts.cpp
    void cleanUp(const Scene &scene);
    void takeAway(Leaving leaving);
    bool mark(Leaving &leaving);
    void unmark(const std::vector<ResidentNode> &nodes);
    Status drain(const ResidentNode &node, const CancelToken &cancel);
    Status evict(const nlohmann::json &pod, Deadline deadline, const CancelToken &cancel);
    void leave(const Leaving &leaving, const CancelToken &cancel);

    // What is told, in autoscaler_words.cpp
    void say(const PodNeeds &pod, bool isWarning, const char *reason, const std::string &message);
    void say(const ResidentNode &node, bool isWarning, const char *reason, const std::string &message);
    void sayOnStatus(bool isWarning, const char *reason, const std::string &message);
    void write(EventText event);
    std::string groupUrl(const PoolSpec &pool, const std::string &zone) const;
    void writeStatus(const Pools &pools);
    NodeGroupState groupState(const PoolSpec &pool, const std::string &zone);

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
    std::map<std::string, Backoff> m_backoff; ///< by key
    std::set<std::string> m_busy; ///< pools that are being changed
    std::map<std::string, Coming> m_coming; ///< by pool
    std::string m_statusUid; ///< of the status ConfigMap
    bool m_wantsScan = false;
    std::atomic<bool> m_isDraining = false; ///< one pool's nodes at a time are emptied

    // The thread's own
    std::map<std::string, Clock::time_point> m_unneededSince; ///< by node
    std::map<std::string, std::pair<std::string, Clock::time_point>> m_saidWhyNot; ///< by pod's uid
    std::map<std::string, std::string> m_obstacles; ///< by node: what was logged last
    std::map<std::string, nlohmann::json> m_classStatus; ///< as written last
    Clock::time_point m_nextScaleDown;
    std::uint64_t m_poolCounter = 0;
    bool m_isClean = false; ///< marks of an earlier run are gone
    AutoscalerStatus m_status;

    BackgroundTasks m_changes;
    std::unique_ptr<Informer> m_pods; ///< without a node; null: no pool may grow
    std::unique_ptr<Informer> m_classes;
    std::unique_ptr<Informer> m_nodes, m_residents; ///< of scaling down; null: no pool may shrink
    std::jthread m_thread; ///< last: it uses all the others
};

} // namespace cluster::local
