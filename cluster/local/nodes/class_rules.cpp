// Pods that name a ComputeClass: its rules in order, what became of them, and the way back to an earlier
// rule.

#include "cluster/local/nodes/autoscaler_private.h"
#include "cluster/local/nodes/compute_class_status.h"
#include "cluster/local/nodes/json_access.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

bool wantsMigration(const Json &object)
{
    return at(at(at(object, "spec"), "activeMigration"), "optimizeRulePriority") == true;
}

std::string nameOf(const Json &object)
{
    return text(at(object, "metadata"), "name");
}

} // namespace

KubeObject Autoscaler::Private::computeClass(const std::string &name) const
{
    return name.empty() ? nullptr : m_classes->find({}, name);
}

/// An Autopilot cluster makes pools for every class, others only where the class says so.
bool Autoscaler::Private::mayCreateFor(const Json &computeClass) const
{
    return m_options.isAutopilot || canCreatePools(computeClass);
}

/// For the first pod that a rule of its class helps, and for what fits beside it.
std::optional<Autoscaler::Private::ScaleUp>
Autoscaler::Private::classChange(const std::vector<PodNeeds> &pods, const Pools &pools)
{
    for (const PodNeeds &pod : pods) {
        const KubeObject object = computeClass(pod.wanted(classLabel));
        if (!object && !m_options.isAutopilot) // Autopilot has classes of its own
            continue;
        const Json none;
        const Json &definition = object ? *object : none;
        for (const PoolWish &wish : wishesOf(pod, definition)) {
            const bool mayCreate = object ? mayCreateFor(definition) : true;
            if (std::optional<ScaleUp> change = ruleChange(wish, pod, mayCreate, pods, pools))
                return change;
        }
    }
    return std::nullopt;
}

/// Pools that are there come first, then a new one.
std::optional<Autoscaler::Private::ScaleUp>
Autoscaler::Private::ruleChange(const PoolWish &wish, const PodNeeds &pod, bool mayCreate,
                                const std::vector<PodNeeds> &pods, const Pools &pools)
{
    Pools suited;
    for (const PoolSpec &pool : pools) {
        const std::optional<MachineShape> shape = m_options.machine(pool.machineType);
        if (shape && isSuited(wish, pool, *shape))
            suited.push_back(pool);
    }
    std::optional<ScaleUp> change = bestExisting(pods, suited);
    if (change)
        change->ruleKey = wish.key;
    else if (mayCreate)
        change = creation(wish, pod, pods);
    return change;
}

RuleState Autoscaler::Private::ruleState(const PoolWish &rule, const Pools &pools)
{
    RuleState state;
    const std::lock_guard lock(m_mutex);
    for (const auto &[pool, coming] : m_coming) {
        if (coming.ruleKey == rule.key && coming.until == Clock::time_point::max())
            state.coming = pool;
    }
    const auto note = [&](const std::string &key, bool isWhole) {
        const auto found = m_backoff.find(key);
        if (found == m_backoff.end() || found->second.until <= Clock::now())
            return false;
        state.reason = found->second.reason;
        state.until = std::max(state.until, found->second.untilTime);
        state.isWhole = state.isWhole || isWhole;
        return true;
    };
    note(rule.key, true);
    const std::vector<std::string> zones = zonesOf(rule, m_options.offers);
    std::size_t failed = 0;
    for (const std::string &zone : zones)
        failed += note(rule.key + '@' + zone, false) ? 1 : 0;
    for (const PoolSpec &pool : pools) {
        const std::optional<MachineShape> shape = m_options.machine(pool.machineType);
        if (shape && isSuited(rule, pool, *shape))
            note(pool.name, zones.empty());
    }
    state.isWhole = state.isWhole || (!zones.empty() && failed == zones.size());
    return state;
}

/// Writes what has changed into the classes' status.
void Autoscaler::Private::reportClasses(const Pools &pools)
{
    ClassSurroundings around;
    around.pools = pools;
    around.offers = &m_options.offers;
    around.machine = m_options.machine;
    for (const KubeObject &object : m_classes->objects()) {
        around.mayCreate = mayCreateFor(*object);
        around.rules.clear();
        for (const PoolWish &rule : rulesOf(nameOf(*object), *object))
            around.rules.push_back(ruleState(rule, pools));
        const Json status = computeClassStatus(*object, around, unixTimeNow());
        if (status == at(*object, "status") || m_classStatus[nameOf(*object)] == status)
            continue;
        KubeWriteOptions options;
        options.cancel = m_cancel.get_token();
        options.deadline = Deadline::after(std::chrono::seconds(10));
        const ResourcePath path
            = apiGroup("cloud.google.com", "v1", "computeclasses").named(nameOf(*object)).sub("status");
        if (m_client.patch(path, PatchType::Merge, Json{{"status", status}}, options))
            m_classStatus[nameOf(*object)] = status;
    }
}

/// Active migration: the pods of one node move to nodes of an earlier rule, which are made if they can be.
void Autoscaler::Private::migrate(const Scene &scene, const Pools &pools)
{
    for (const ResidentNode &node : scene.nodes) {
        const KubeObject object = computeClass(node.label(classLabel));
        if (!object || !wantsMigration(*object) || !node.isReady || node.isCordoned || node.mayNotGo)
            continue;
        const auto pool = std::ranges::find(pools, node.pool, &PoolSpec::name);
        const bool mayShrink = pool != pools.end() && (pool->isAutoscaled || pool->isAutoCreated)
            && pool->nodeCount > pool->minNodes && !pool->isMultiHost && pool->zones.size() == 1;
        if (mayShrink && !isBusy(pool->name) && migrateNode(node, *pool, *object, scene, pools))
            return;
    }
}

/// True where something was begun.
bool Autoscaler::Private::migrateNode(const ResidentNode &node, const PoolSpec &pool, const Json &object,
                                      const Scene &scene, const Pools &pools)
{
    const auto rules = rulesOf(nameOf(object), object);
    const auto ruleOf = [&](const std::string &name) {
        const auto spec = std::ranges::find(pools, name, &PoolSpec::name);
        const std::optional<MachineShape> shape
            = spec == pools.end() ? std::nullopt : m_options.machine(spec->machineType);
        const auto found = std::ranges::find_if(
            rules, [&](const PoolWish &rule) { return shape && isSuited(rule, *spec, *shape); });
        return found == rules.end() ? static_cast<int>(rules.size()) : found->rule;
    };
    const int now = ruleOf(pool.name);
    const auto resident = scene.podsOf.find(node.name);
    if (now == 0 || resident == scene.podsOf.end() || !drainObstacle(resident->second, budgets()).empty())
        return false;
    std::vector<PodNeeds> moving;
    for (const ResidentPod *pod : resident->second) {
        if (!pod->isNobody())
            moving.push_back(pod->needs);
    }
    if (moving.empty())
        return false;
    SpareRoom spare(scene.nodes, scene.pods);
    const bool hasRoom = spare.rehouse(node, resident->second,
                                       [&](const ResidentNode &target) { return ruleOf(target.pool) < now; });
    if (hasRoom) {
        if (m_isDraining.exchange(true))
            return false;
        takeAway({pool, {node}, true});
        return true;
    }
    for (const PoolWish &wish : wishesOf(moving.front(), object)) {
        if (wish.rule < 0 || wish.rule >= now || isComing(wish.key))
            continue;
        std::optional<ScaleUp> change = ruleChange(wish, moving.front(), mayCreateFor(object), moving, pools);
        if (!change)
            continue;
        change->pods.clear(); // they run: nothing is told of them
        start(std::move(*change));
        return true;
    }
    return false;
}

/// Nodes for this rule are on their way, or have just come.
bool Autoscaler::Private::isComing(const std::string &ruleKey)
{
    const std::lock_guard lock(m_mutex);
    return std::ranges::any_of(m_coming, [&](const auto &entry) {
        return entry.second.ruleKey == ruleKey && entry.second.until > Clock::now();
    });
}

} // namespace cluster::local
