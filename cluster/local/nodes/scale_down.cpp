// Nodes that nobody needs go: empty ones, and those whose few pods find room elsewhere.

#include "cluster/local/nodes/autoscaler_private.h"
#include "cluster/local/nodes/json_access.h"
#include "cluster/local/nodes/node_pools_private.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using json_access::at;

constexpr double defaultThreshold = 0.5; // GKE's profile "balanced"

bool isOurs(const PoolSpec &pool)
{
    return pool.isAutoscaled || pool.isAutoCreated;
}

bool hasAccelerator(const PoolSpec &pool)
{
    return pool.gpusPerNode > 0 || pool.tpuChipsPerNode > 0;
}

bool hasWork(const std::vector<const ResidentPod *> &pods)
{
    return std::any_of(pods.begin(), pods.end(), [](const ResidentPod *pod) { return !pod->isNobody(); });
}

const std::vector<const ResidentPod *> &
podsOn(const std::map<std::string, std::vector<const ResidentPod *>> &podsOf, const std::string &node)
{
    static const std::vector<const ResidentPod *> none;
    const auto found = podsOf.find(node);
    return found == podsOf.end() ? none : found->second;
}

/// Of a pool's zones each has as many nodes: they go by one of each.
int inWholeSteps(const PoolSpec &pool, int count)
{
    const int step = std::max(1, static_cast<int>(pool.zones.size()));
    return count / step * step;
}

} // namespace

void Autoscaler::Private::scaleDown(const Pools &pools)
{
    for (const PoolSpec &pool : pools) { // what a failed creation or the last node has left
        if (pool.isAutoCreated && pool.nodeCount == 0 && !isBusy(pool.name))
            takeAway({pool, {}, false});
    }
    const bool mayAnyGo = std::any_of(pools.begin(), pools.end(), [](const PoolSpec &pool) {
        return isOurs(pool) && pool.nodeCount > pool.minNodes;
    });
    if (!follow(mayAnyGo))
        return;
    const Scene scene = lookAround();
    if (!m_isClean)
        cleanUp(scene);
    judge(scene, pools);
    migrate(scene, pools);
}

/// Nodes and pods are followed only while a pool may shrink: others need not be paid for. True when they are
/// known.
bool Autoscaler::Private::follow(bool isWanted)
{
    if (!isWanted) {
        m_nodes.reset();
        m_residents.reset();
        m_unneededSince.clear();
        return false;
    }
    if (!m_nodes) {
        InformerOptions ofNodes;
        ofNodes.prune = pruneResidentNode;
        m_nodes = std::make_unique<Informer>(m_client, coreV1("nodes"), Informer::Handlers{}, ofNodes);
        InformerOptions ofPods;
        ofPods.fieldSelector = "spec.nodeName!=";
        ofPods.prune = pruneResidentPod;
        m_residents = std::make_unique<Informer>(m_client, coreV1("pods"), Informer::Handlers{}, ofPods);
    }
    return m_nodes->synced() && m_residents->synced();
}

Autoscaler::Private::Scene Autoscaler::Private::lookAround()
{
    Scene scene;
    for (const KubeObject &node : m_nodes->objects())
        scene.nodes.push_back(residentNode(*node));
    for (const KubeObject &pod : m_residents->objects())
        scene.pods.push_back(residentPod(*pod));
    for (const ResidentPod &pod : scene.pods)
        scene.podsOf[pod.node].push_back(&pod);
    return scene;
}

std::vector<DisruptionBudget> Autoscaler::Private::budgets()
{
    std::vector<DisruptionBudget> result;
    KubeCallOptions call;
    call.cancel = m_cancel.get_token();
    call.deadline = Deadline::after(std::chrono::seconds(30));
    const Result<KubeList> list = m_client.list(apiGroup("policy", "v1", "poddisruptionbudgets"), {}, call);
    if (!list)
        return {DisruptionBudget{}};
    for (const Json &budget : list->items)
        result.push_back(disruptionBudget(budget));
    return result;
}

void Autoscaler::Private::judge(const Scene &scene, const Pools &pools)
{
    SpareRoom spare(scene.nodes, scene.pods);
    std::set<std::string> known;
    for (const ResidentNode &node : scene.nodes) {
        known.insert(node.name);
        if (node.hasTaint(toBeDeletedKey))
            spare.close(node.name);
    }
    std::erase_if(m_unneededSince, [&](const auto &entry) { return !known.contains(entry.first); });
    std::erase_if(m_obstacles, [&](const auto &entry) { return !known.contains(entry.first); });
    const std::vector<DisruptionBudget> allBudgets = budgets();
    std::vector<Leaving> leaving;
    for (const PoolSpec &pool : pools) {
        if (isBusy(pool.name))
            continue;
        if (isOurs(pool) && pool.nodeCount > pool.minNodes)
            judgePool(pool, scene, spare, allBudgets, leaving);
        else
            keepAll(pool, scene);
    }
    for (Leaving &group : leaving)
        takeAway(std::move(group));
}

void Autoscaler::Private::keepAll(const PoolSpec &pool, const Scene &scene)
{
    for (const ResidentNode &node : scene.nodes) {
        if (node.pool != pool.name)
            continue;
        m_unneededSince.erase(node.name);
        noteNeeded(node);
    }
}

void Autoscaler::Private::judgePool(const PoolSpec &pool, const Scene &scene, SpareRoom &spare,
                                    const std::vector<DisruptionBudget> &budgets,
                                    std::vector<Leaving> &leaving)
{
    std::vector<const ResidentNode *> empty;
    int count = 0;
    for (const ResidentNode &node : scene.nodes) {
        if (node.pool != pool.name)
            continue;
        ++count;
        if (!node.mayNotGo && !hasWork(podsOn(scene.podsOf, node.name)))
            empty.push_back(&node);
        else
            noteNeeded(node);
    }
    const int room = std::max(0, pool.nodeCount - pool.minNodes);
    // A slice goes as a whole, or not at all.
    if (pool.isMultiHost && (static_cast<int>(empty.size()) < count || pool.minNodes > 0)) {
        keepAll(pool, scene);
        return;
    }
    empty.resize(std::min(empty.size(), static_cast<std::size_t>(room)));
    Leaving going{pool, {}, false};
    for (const ResidentNode *node : empty) {
        spare.close(node->name);
        noteUnneeded(*node);
        if (isDue(*node, pool))
            going.nodes.push_back(*node);
    }
    const bool isWhole = !pool.isMultiHost || static_cast<int>(going.nodes.size()) == count;
    going.nodes.resize(static_cast<std::size_t>(inWholeSteps(pool, static_cast<int>(going.nodes.size()))));
    if (isWhole && !going.nodes.empty()) {
        leaving.push_back(std::move(going));
        return;
    }
    if (pool.isMultiHost)
        return;
    Leaving drained{pool, {}, true};
    for (const ResidentNode *node :
         movable(pool, scene, spare, budgets, room - static_cast<int>(empty.size()))) {
        noteUnneeded(*node);
        if (isDue(*node, pool))
            drained.nodes.push_back(*node);
    }
    const std::size_t step = std::max<std::size_t>(1, pool.zones.size());
    if (drained.nodes.size() < step || m_isDraining.exchange(true))
        return;
    drained.nodes.resize(step);
    leaving.push_back(std::move(drained));
}

/// Nodes below the threshold whose pods all find a place elsewhere, the least used first.
std::vector<const ResidentNode *> Autoscaler::Private::movable(const PoolSpec &pool, const Scene &scene,
                                                               SpareRoom &spare,
                                                               const std::vector<DisruptionBudget> &budgets,
                                                               int most)
{
    std::vector<std::pair<double, const ResidentNode *>> candidates;
    for (const ResidentNode &node : scene.nodes) {
        const auto &pods = podsOn(scene.podsOf, node.name);
        if (node.pool != pool.name || !node.isReady || node.mayNotGo || !hasWork(pods)
            || node.hasTaint(toBeDeletedKey))
            continue;
        const double used = utilization(node, pods);
        if (used < threshold(pool, hasAccelerator(pool)))
            candidates.emplace_back(used, &node);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    std::vector<const ResidentNode *> result;
    for (const auto &[used, node] : candidates) {
        const auto &pods = podsOn(scene.podsOf, node->name);
        std::string obstacle = drainObstacle(pods, budgets);
        if (obstacle.empty() && static_cast<int>(result.size()) >= most)
            obstacle = "no.scale.down.node.node.group.min.size.reached";
        if (obstacle.empty() && !spare.rehouse(*node, pods))
            obstacle = "no.scale.down.node.no.place.to.move.pods";
        if (obstacle.empty()) {
            spare.close(node->name);
            result.push_back(node);
        }
        if (m_options.log && m_obstacles[node->name] != obstacle && !obstacle.empty())
            m_options.log("noScaleDown: node " + node->name + ": " + obstacle);
        m_obstacles[node->name] = obstacle;
    }
    // Those that stay have their time begun anew when they are found again.
    for (const auto &[name, since] : std::map(m_unneededSince)) {
        const auto isThis = [&, &wanted = name](const ResidentNode *node) { return node->name == wanted; };
        const auto node = std::ranges::find(scene.nodes, name, &ResidentNode::name);
        const bool isIdle = node != scene.nodes.end() && !hasWork(podsOn(scene.podsOf, name));
        if (node != scene.nodes.end() && node->pool == pool.name && !isIdle
            && std::none_of(result.begin(), result.end(), isThis))
            m_unneededSince.erase(name);
    }
    return result;
}

/// A soft taint, so that the scheduler fills other nodes first.
void Autoscaler::Private::noteUnneeded(const ResidentNode &node)
{
    if (!m_unneededSince.try_emplace(node.name, Clock::now()).second || node.hasTaint(candidateKey))
        return;
    const NodeTaint candidate{candidateKey, std::to_string(unixTimeNow().count()), "PreferNoSchedule"};
    (void)m_writer.changeTaints(node.name, {candidate}, {}, m_cancel.get_token());
}

void Autoscaler::Private::noteNeeded(const ResidentNode &node)
{
    const bool isNews = node.hasTaint(candidateKey) && !m_unneededSince.contains(node.name);
    if (isNews && !node.hasTaint(toBeDeletedKey))
        (void)m_writer.changeTaints(node.name, {}, {{candidateKey, "", "PreferNoSchedule"}},
                                    m_cancel.get_token());
}

bool Autoscaler::Private::isDue(const ResidentNode &node, const PoolSpec &pool)
{
    const auto since = m_unneededSince.find(node.name);
    return since != m_unneededSince.end() && Clock::now() - since->second >= patience(pool);
}

/// GKE's, unless the pool's compute class says otherwise.
double Autoscaler::Private::threshold(const PoolSpec &pool, bool hasAccelerator) const
{
    const KubeObject object = computeClass(pool.computeClass);
    const Json &policy = object ? at(at(*object, "spec"), "autoscalingPolicy") : at(Json(), "");
    const Json &percent = at(policy, hasAccelerator ? "gpuConsolidationThreshold" : "consolidationThreshold");
    return percent.is_number() ? percent.get<double>() / 100 : defaultThreshold;
}

std::chrono::milliseconds Autoscaler::Private::patience(const PoolSpec &pool) const
{
    constexpr int defaultMinutes = 10; // what options.unneededTime stands for
    const KubeObject object = computeClass(pool.computeClass);
    const Json &policy = object ? at(at(*object, "spec"), "autoscalingPolicy") : at(Json(), "");
    const Json &minutes = at(policy, "consolidationDelayMinutes");
    return minutes.is_number_integer() ? m_options.unneededTime * minutes.get<int>() / defaultMinutes
                                       : m_options.unneededTime;
}

} // namespace cluster::local
