// Pods without a node make nodes appear.

#include "cluster/local/nodes/autoscaler_private.h"
#include "cluster/local/nodes/node_names.h"
#include "cluster/local/nodes/node_object.h"
#include "cluster/local/nodes/node_pools_private.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

constexpr std::chrono::minutes repeatTime{5}; ///< of the same words about the same pod
constexpr std::chrono::minutes longestSettleTime{10};

/// Nothing that a new node could help.
bool waitsForVolume(const PodNeeds &pod)
{
    return pod.whyPending.find("unbound immediate PersistentVolumeClaims") != std::string::npos;
}

bool selectsClass(const PodNeeds &pod)
{
    return !pod.wanted("cloud.google.com/compute-class").empty();
}

/// Why a change failed, in a word for back-off.
std::string failureReason(const std::string &message)
{
    const auto says = [&](const char *words) { return message.find(words) != std::string::npos; };
    if (says("quota") || says("QUOTA"))
        return "QuotaExceeded";
    if (says("STOCKOUT") || says("POOL_EXHAUSTED") || says("enough resources") || says("out of resources"))
        return "OutOfResources";
    return says("IP_SPACE_EXHAUSTED") ? "IpSpaceExhausted" : "Other";
}

/// The same in the words of the autoscaler's event.
std::string failureWords(const std::string &reason, const std::string &message)
{
    if (reason == "QuotaExceeded")
        return "GCE quota exceeded";
    if (reason == "OutOfResources")
        return "GCE out of resources";
    return reason == "IpSpaceExhausted" ? "IP space exhausted" : message;
}

std::string creationTime(const Json &pod)
{
    return pod.value("metadata", Json::object()).value("creationTimestamp", std::string());
}

} // namespace

void Autoscaler::Private::scaleUp(const Pools &pools)
{
    std::vector<PodNeeds> pods = pendingPods();
    std::erase_if(pods, [this](const PodNeeds &pod) { return willHaveRoom(pod); });
    while (!pods.empty() && !m_cancel.stop_requested()) {
        const auto others = std::stable_partition(pods.begin(), pods.end(), selectsClass);
        const std::vector<PodNeeds> classless(others, pods.end());
        std::optional<ScaleUp> change = classChange({pods.begin(), others}, pools);
        if (!change)
            change = bestExisting(classless, pools);
        if (!change)
            change = creation(classless);
        if (!change)
            break;
        std::erase_if(pods, [&](const PodNeeds &pod) {
            return std::any_of(change->pods.begin(), change->pods.end(),
                               [&](const PodNeeds &helped) { return helped.uid == pod.uid; });
        });
        start(std::move(*change));
    }
    for (const PodNeeds &pod : pods)
        sayWhyNot(pod, pools);
}

/// Those that no change on its way is for, oldest first.
std::vector<PodNeeds> Autoscaler::Private::pendingPods()
{
    std::vector<KubeObject> objects = m_pods->objects();
    std::erase_if(objects, [](const KubeObject &pod) { return !isUnschedulable(*pod); });
    std::stable_sort(objects.begin(), objects.end(), [](const KubeObject &a, const KubeObject &b) {
        return creationTime(*a) < creationTime(*b);
    });
    std::set<std::string> known;
    std::vector<PodNeeds> pods;
    const auto now = Clock::now();
    for (const KubeObject &object : objects) {
        PodNeeds pod = podNeeds(*object);
        known.insert(pod.uid);
        {
            const std::lock_guard lock(m_mutex);
            const auto helped = m_helped.find(pod.uid);
            if (helped != m_helped.end() && helped->second.until > now)
                continue;
        }
        if (waitsForVolume(pod))
            continue;
        addTolerations(pod);
        pods.push_back(std::move(pod));
    }
    const std::lock_guard lock(m_mutex);
    std::erase_if(m_helped, [&](const auto &entry) { return !known.contains(entry.first); });
    std::erase_if(m_saidWhyNot, [&](const auto &entry) { return !known.contains(entry.first); });
    return pods;
}

/// GKE's webhook does it when the pod is made; adding one later is allowed too.
void Autoscaler::Private::addTolerations(PodNeeds &pod)
{
    const std::vector<NodeTaint> missing = missingTolerations(pod);
    if (missing.empty())
        return;
    const auto add = [&](Json &object) {
        for (const NodeTaint &toleration : missing)
            object["spec"]["tolerations"].push_back({{"key", toleration.key},
                                                     {"operator", "Equal"},
                                                     {"value", toleration.value},
                                                     {"effect", toleration.effect}});
        return true;
    };
    KubeWriteOptions options;
    options.cancel = m_cancel.get_token();
    options.deadline = Deadline::after(std::chrono::seconds(10));
    if (m_client.modify(coreV1("pods", pod.space, pod.name), add, options))
        pod.tolerations.insert(pod.tolerations.end(), missing.begin(), missing.end());
}

bool Autoscaler::Private::isBusy(const std::string &key)
{
    const std::lock_guard lock(m_mutex);
    const auto backoff = m_backoff.find(key);
    return m_busy.contains(key) || (backoff != m_backoff.end() && backoff->second.until > Clock::now());
}

/// The pool that helps most pods; among those, the one that wastes least.
std::optional<Autoscaler::Private::ScaleUp>
Autoscaler::Private::bestExisting(const std::vector<PodNeeds> &pods, const Pools &pools)
{
    std::optional<ScaleUp> best;
    for (const PoolSpec &pool : pools) {
        if (isBusy(pool.name))
            continue;
        std::optional<ScaleUp> option = growth(pool, pods);
        if (!option)
            continue;
        const bool isBetter = !best || option->pods.size() > best->pods.size()
            || (option->pods.size() == best->pods.size() && option->waste < best->waste);
        if (isBetter)
            best = std::move(option);
    }
    return best;
}

std::optional<Autoscaler::Private::ScaleUp> Autoscaler::Private::growth(const PoolSpec &pool,
                                                                        const std::vector<PodNeeds> &pods)
{
    const std::optional<MachineShape> shape = m_options.machine(pool.machineType);
    // Zones grow together: a pool's size is a number of nodes in each.
    const int zones = std::max(1, static_cast<int>(pool.zones.size()));
    const int room
        = pool.isAutoscaled || pool.isAutoCreated ? (pool.maxNodes - pool.nodeCount) / zones * zones : 0;
    if (!shape || room <= 0 || (pool.isMultiHost && pool.nodeCount > 0))
        return std::nullopt;
    const NodeTemplate node = templateOf(m_options.cluster, pool, *shape);
    std::vector<const PodNeeds *> fitting;
    for (const PodNeeds &pod : pods) {
        if (misfit(pod, node).empty())
            fitting.push_back(&pod);
    }
    const int limit = pool.isMultiHost ? hostsOf(pool) : room;
    if (fitting.empty() || limit > room)
        return std::nullopt;
    ScaleUp change;
    change.pool = pool;
    change.before = pool.nodeCount;
    change.key = pool.name;
    double cores = 0;
    const Packing packing = packed(fitting, node, limit);
    for (const PodNeeds *pod : packing.placed) {
        change.pods.push_back(*pod);
        cores += pod->amount("cpu");
    }
    const int needed = (static_cast<int>(packing.nodes.size()) + zones - 1) / zones * zones;
    const int added = pool.isMultiHost ? limit : needed;
    change.rooms = packing.nodes;
    change.rooms.resize(static_cast<std::size_t>(added), NodeRoom{node.allocatable, false});
    change.pool.nodeCount = pool.nodeCount + added;
    change.waste = added * node.allocatable.at("cpu") - cores;
    change.node = node;
    return change.pods.empty() ? std::nullopt : std::optional(std::move(change));
}

/// A pool of its own for the first pod that may have one, and for what fits beside it.
std::optional<Autoscaler::Private::ScaleUp> Autoscaler::Private::creation(const std::vector<PodNeeds> &pods)
{
    if (!m_options.createsPools)
        return std::nullopt;
    for (const PodNeeds &pod : pods) {
        for (const PoolWish &wish : wishesOf(pod, nullptr)) {
            if (std::optional<ScaleUp> change = creation(wish, pod, pods))
                return change;
        }
    }
    return std::nullopt;
}

/// In the first zone that was not asked in vain lately.
std::optional<Autoscaler::Private::ScaleUp>
Autoscaler::Private::creation(const PoolWish &wish, const PodNeeds &pod, const std::vector<PodNeeds> &pods)
{
    if (isBusy(wish.key) || !wish.nodePools.empty())
        return std::nullopt;
    std::optional<PoolSpec> pool
        = poolFor(wish, pod, m_options.cluster, m_options.offers,
                  [&](const std::string &zone) { return isBusy(wish.key + '@' + zone); });
    if (!pool)
        return std::nullopt;
    pool->isAutopilot = m_options.isAutopilot;
    pool->name = newPoolName(*pool);
    std::optional<ScaleUp> change = growth(*pool, pods);
    if (!change)
        return std::nullopt;
    change->isNew = true;
    change->key = wish.key + '@' + pool->zones.front();
    change->ruleKey = wish.key;
    return change;
}

std::string Autoscaler::Private::newPoolName(const PoolSpec &pool)
{
    const auto time = std::chrono::system_clock::now().time_since_epoch().count();
    const std::string hash
        = stableHex(std::to_string(time) + '/' + std::to_string(++m_poolCounter) + pool.machineType, 8);
    return m_options.isAutopilot ? "nap-" + hash : "nap-" + pool.machineType + '-' + hash;
}

/// True where nodes that are on their way have room for it: a slice brings more hosts than the first pods
/// need.
bool Autoscaler::Private::willHaveRoom(const PodNeeds &pod)
{
    const auto now = Clock::now();
    const std::lock_guard lock(m_mutex);
    std::erase_if(m_coming, [&](const auto &entry) { return entry.second.until <= now; });
    for (auto &[pool, coming] : m_coming) {
        if (!misfit(pod, coming.node).empty())
            continue;
        const bool isTaken = std::any_of(coming.rooms.begin(), coming.rooms.end(),
                                         [&](NodeRoom &room) { return room.take(pod); });
        if (!isTaken)
            continue;
        coming.pods.push_back(pod);
        m_helped[pod.uid].until = coming.until;
        return true;
    }
    return false;
}

void Autoscaler::Private::start(ScaleUp change)
{
    const std::string group = groupUrl(change.pool, change.pool.zones.front());
    const std::string most = std::to_string(change.pool.maxNodes);
    const std::string wanted = std::to_string(change.pool.nodeCount);
    const std::string before = std::to_string(change.before);
    {
        const std::lock_guard lock(m_mutex);
        m_busy.insert(change.pool.name);
        m_coming[change.pool.name]
            = {change.node, change.rooms, change.pods, Clock::time_point::max(), change.ruleKey};
        for (const PodNeeds &pod : change.pods)
            m_helped[pod.uid].until = Clock::time_point::max();
    }
    sayOnStatus(false, "ScaledUpGroup",
                "Scale-up: setting group " + group + " size to " + wanted + " instead of " + before
                    + " (max: " + most + ')');
    for (const PodNeeds &pod : change.pods)
        say(pod, false, "TriggeredScaleUp",
            "pod triggered scale-up: [{" + group + ' ' + before + "->" + wanted + " (max: " + most + ")}]");
    m_changes.start([this, change = std::move(change)](const CancelToken &) {
        const Status done = change.isNew ? m_scaler.createPool(change.pool)
                                         : m_scaler.resizePool(change.pool.name, change.pool.nodeCount);
        finish(change, done);
    });
}

void Autoscaler::Private::finish(const ScaleUp &change, const Status &done)
{
    const auto now = Clock::now();
    const std::string reason = done ? std::string() : failureReason(done.error().message);
    std::vector<PodNeeds> pods;
    {
        const std::lock_guard lock(m_mutex);
        m_busy.erase(change.pool.name);
        if (!done) {
            const auto seconds = std::chrono::duration_cast<UnixTime>(m_options.failureBackoff);
            const Backoff backoff{now + m_options.failureBackoff, unixTimeNow() + seconds, reason,
                                  done.error().message};
            m_backoff[change.key] = backoff;
            if (reason == "QuotaExceeded" && !change.ruleKey.empty()) // quota is regional: no zone helps
                m_backoff[change.ruleKey] = backoff;
        }
        Coming &coming = m_coming[change.pool.name];
        pods = coming.pods;
        for (const PodNeeds &pod : pods) {
            Help &help = m_helped[pod.uid];
            const auto settle = std::min<Clock::duration>(
                m_options.settleTime * (1 << std::min(help.count, 8)), longestSettleTime);
            help.until = done ? now + settle : now; // another pool may help at once
            help.count += done ? 1 : 0;
        }
        coming.until = now + m_options.settleTime;
        if (!done)
            m_coming.erase(change.pool.name);
    }
    if (done)
        return;
    sayOnStatus(true, "FailedToScaleUpGroup",
                "Scale-up failed for group " + groupUrl(change.pool, change.pool.zones.front()) + ": "
                    + done.error().message);
    for (const PodNeeds &pod : pods)
        say(pod, true, "FailedScaleUp",
            "Node scale up in zones " + change.pool.zones.front() + " associated with this pod failed: "
                + failureWords(reason, done.error().message) + ". Pod is at risk of not being scheduled.");
    wake();
}

/// As the cluster autoscaler counts them: "2 node(s) didn't match …, 1 max node group size reached".
void Autoscaler::Private::sayWhyNot(const PodNeeds &pod, const Pools &pools)
{
    std::map<std::string, int> reasons;
    for (const PoolSpec &pool : pools) {
        const std::optional<MachineShape> shape = m_options.machine(pool.machineType);
        if (!shape || !(pool.isAutoscaled || pool.isAutoCreated))
            continue;
        std::string reason = misfit(pod, templateOf(m_options.cluster, pool, *shape));
        if (reason.empty() && isBusy(pool.name))
            reason = "in backoff after failed scale-up";
        if (reason.empty())
            reason = "max node group size reached";
        ++reasons[reason];
    }
    std::string message = "pod didn't trigger scale-up:";
    for (const auto &[reason, count] : reasons)
        message += (message.ends_with(':') ? " " : ", ") + std::to_string(count) + ' ' + reason;
    auto &said = m_saidWhyNot[pod.uid];
    if (said.first == message && said.second + repeatTime > Clock::now())
        return;
    said = {message, Clock::now()};
    say(pod, false, "NotTriggerScaleUp", message);
}

} // namespace cluster::local
