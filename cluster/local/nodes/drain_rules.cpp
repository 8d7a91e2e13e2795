#include "cluster/local/nodes/drain_rules.h"

#include "cluster/local/nodes/json_access.h"
#include "cluster/local/nodes/node_object.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

constexpr const char *zoneLabel = "topology.kubernetes.io/zone";
constexpr const char *safeToEvictKey = "cluster-autoscaler.kubernetes.io/safe-to-evict";
constexpr const char *disabledKey = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
constexpr const char *systemSpace = "kube-system";

/// Only these members, where they are there.
Json only(const Json &object, const std::vector<const char *> &keys)
{
    Json kept = Json::object();
    for (const char *key : keys) {
        if (const Json &value = at(object, key); !value.is_null())
            kept[key] = value;
    }
    return kept;
}

Json containersWithResources(const Json &containers)
{
    Json kept = Json::array();
    for (const Json &container : containers)
        kept.push_back(only(container, {"resources", "restartPolicy"}));
    return kept;
}

bool isCovered(const DisruptionBudget &budget, const ResidentPod &pod)
{
    if (budget.isForNone || budget.space != pod.needs.space)
        return false;
    return std::all_of(budget.selector.begin(), budget.selector.end(),
                       [&](const NodeRequirement &requirement) { return meets(requirement, pod.labels); });
}

std::string obstacleOf(const ResidentPod &pod, bool hasBudget)
{
    if (pod.safeToEvict == "true")
        return {};
    if (!pod.hasController)
        return "no.scale.down.node.pod.not.backed.by.controller";
    if (pod.needs.space == systemSpace && !hasBudget)
        return "no.scale.down.node.pod.kube.system.unmovable";
    if (pod.safeToEvict == "false")
        return "no.scale.down.node.pod.not.safe.to.evict.annotation";
    return {};
}

double share(const Amounts &used, const Amounts &whole, const std::string &resource)
{
    const auto has = whole.find(resource);
    const auto takes = used.find(resource);
    if (has == whole.end() || has->second <= 0 || takes == used.end())
        return 0;
    return takes->second / has->second;
}

} // namespace

ResidentPod residentPod(const Json &pod)
{
    const Json &metadata = at(pod, "metadata");
    ResidentPod result;
    result.needs = podNeeds(pod);
    result.node = text(at(pod, "spec"), "nodeName");
    if (const Json &labels = at(metadata, "labels"); labels.is_object()) {
        for (const auto &[key, value] : labels.items())
            result.labels[key] = value.is_string() ? value.get<std::string>() : std::string();
    }
    const Json &annotations = at(metadata, "annotations");
    result.safeToEvict = text(annotations, safeToEvictKey);
    result.isPinned = !text(annotations, "kubernetes.io/config.mirror").empty();
    for (const Json &owner : at(metadata, "ownerReferences")) {
        const bool isController = at(owner, "controller") == true;
        result.hasController = result.hasController || isController;
        result.isPinned = result.isPinned || (isController && text(owner, "kind") == "DaemonSet");
    }
    const std::string phase = text(at(pod, "status"), "phase");
    result.hasEnded = phase == "Succeeded" || phase == "Failed";
    for (const Json &volume : at(at(pod, "spec"), "volumes"))
        result.staysInZone = result.staysInZone || at(volume, "persistentVolumeClaim").is_object();
    return result;
}

void pruneResidentPod(Json &pod)
{
    const Json &spec = at(pod, "spec");
    Json kept
        = only(spec, {"nodeName", "nodeSelector", "affinity", "tolerations", "resourceClaims", "overhead"});
    kept["containers"] = containersWithResources(at(spec, "containers"));
    kept["initContainers"] = containersWithResources(at(spec, "initContainers"));
    for (const Json &volume : at(spec, "volumes")) {
        if (at(volume, "persistentVolumeClaim").is_object())
            kept["volumes"].push_back(volume);
    }
    Json metadata = only(
        at(pod, "metadata"),
        {"name", "namespace", "uid", "resourceVersion", "labels", "ownerReferences", "deletionTimestamp"});
    metadata["annotations"]
        = only(at(at(pod, "metadata"), "annotations"), {safeToEvictKey, "kubernetes.io/config.mirror"});
    Json status = only(at(pod, "status"), {"phase"});
    pod = Json{{"metadata", std::move(metadata)}, {"spec", std::move(kept)}, {"status", std::move(status)}};
}

bool ResidentNode::hasTaint(const std::string &key) const
{
    return std::any_of(shape.taints.begin(), shape.taints.end(),
                       [&](const NodeTaint &taint) { return taint.key == key; });
}

std::string ResidentNode::label(const std::string &key) const
{
    const auto found = shape.labels.find(key);
    return found == shape.labels.end() ? std::string() : found->second;
}

ResidentNode residentNode(const Json &node)
{
    const Json &metadata = at(node, "metadata");
    ResidentNode result;
    result.name = text(metadata, "name");
    result.uid = text(metadata, "uid");
    result.shape = nodeTemplate(node);
    result.pool = result.label(poolLabel);
    result.isCordoned = at(at(node, "spec"), "unschedulable") == true;
    result.mayNotGo = text(at(metadata, "annotations"), disabledKey) == "true";
    for (const Json &condition : at(at(node, "status"), "conditions"))
        result.isReady
            = result.isReady || (text(condition, "type") == "Ready" && text(condition, "status") == "True");
    return result;
}

void pruneResidentNode(Json &node)
{
    Json metadata = only(at(node, "metadata"), {"name", "uid", "resourceVersion", "labels"});
    metadata["annotations"] = only(at(at(node, "metadata"), "annotations"), {disabledKey});
    Json conditions = Json::array();
    for (const Json &condition : at(at(node, "status"), "conditions")) {
        if (text(condition, "type") == "Ready")
            conditions.push_back(only(condition, {"type", "status"}));
    }
    Json status{{"allocatable", at(at(node, "status"), "allocatable")}, {"conditions", conditions}};
    Json spec = only(at(node, "spec"), {"taints", "unschedulable"});
    node = Json{{"metadata", std::move(metadata)}, {"spec", std::move(spec)}, {"status", std::move(status)}};
}

DisruptionBudget disruptionBudget(const Json &budget)
{
    DisruptionBudget result;
    result.space = text(at(budget, "metadata"), "namespace");
    const Json &selector = at(at(budget, "spec"), "selector");
    result.isForNone = !selector.is_object();
    if (const Json &labels = at(selector, "matchLabels"); labels.is_object()) {
        for (const auto &[key, value] : labels.items())
            result.selector.push_back(
                {key, "In", {value.is_string() ? value.get<std::string>() : std::string()}});
    }
    for (const Json &expression : at(selector, "matchExpressions")) {
        NodeRequirement requirement{text(expression, "key"), text(expression, "operator"), {}};
        for (const Json &value : at(expression, "values")) {
            if (value.is_string())
                requirement.values.push_back(value.get<std::string>());
        }
        result.selector.push_back(std::move(requirement));
    }
    if (const Json &allowed = at(at(budget, "status"), "disruptionsAllowed"); allowed.is_number_integer())
        result.allowed = allowed.get<int>();
    return result;
}

std::string drainObstacle(const std::vector<const ResidentPod *> &pods,
                          const std::vector<DisruptionBudget> &budgets)
{
    std::vector<int> left;
    for (const DisruptionBudget &budget : budgets)
        left.push_back(budget.allowed);
    for (const ResidentPod *pod : pods) {
        if (pod->isNobody())
            continue;
        bool hasBudget = false;
        bool isEnough = true;
        for (std::size_t i = 0; i < budgets.size(); ++i) {
            if (!isCovered(budgets[i], *pod))
                continue;
            hasBudget = true;
            isEnough = --left[i] >= 0 && isEnough;
        }
        if (std::string obstacle = obstacleOf(*pod, hasBudget); !obstacle.empty())
            return obstacle;
        if (!isEnough)
            return "no.scale.down.node.pod.not.enough.pdb";
    }
    return {};
}

double utilization(const ResidentNode &node, const std::vector<const ResidentPod *> &pods)
{
    Amounts used;
    for (const ResidentPod *pod : pods) {
        if (pod->hasEnded)
            continue;
        for (const auto &[resource, amount] : pod->needs.requests)
            used[resource] += amount;
    }
    const Amounts &whole = node.shape.allocatable;
    for (const char *accelerator : {"nvidia.com/gpu", "google.com/tpu"}) {
        if (const auto has = whole.find(accelerator); has != whole.end() && has->second > 0)
            return share(used, whole, accelerator);
    }
    return std::max(share(used, whole, "cpu"), share(used, whole, "memory"));
}

SpareRoom::SpareRoom(const std::vector<ResidentNode> &nodes, const std::vector<ResidentPod> &pods)
{
    std::map<std::string, std::size_t> places;
    for (const ResidentNode &node : nodes) {
        if (!node.isReady || node.isCordoned)
            continue;
        places[node.name] = m_places.size();
        m_places.push_back({&node, {node.shape.allocatable, false}});
    }
    for (const ResidentPod &pod : pods) {
        const auto found = places.find(pod.node);
        if (found == places.end() || pod.hasEnded)
            continue;
        NodeRoom &room = m_places[found->second].room;
        for (const auto &[resource, amount] : pod.needs.requests)
            room.free[resource] -= amount;
        room.hasLoner = room.hasLoner || pod.needs.isAloneOnNode;
    }
}

void SpareRoom::close(const std::string &node)
{
    std::erase_if(m_places, [&](const Place &place) { return place.node->name == node; });
}

bool SpareRoom::rehouse(const ResidentNode &from, const std::vector<const ResidentPod *> &pods,
                        const std::function<bool(const ResidentNode &)> &may)
{
    std::map<std::size_t, NodeRoom> taken; // of those that take one, as they are then
    for (const ResidentPod *pod : pods) {
        if (pod->isNobody())
            continue;
        if (pod->needs.hasClaims || pod->needs.isBoundToOthers)
            return false; // what the scheduler would say is not foreseen here
        bool isPlaced = false;
        for (std::size_t i = 0; i < m_places.size() && !isPlaced; ++i) {
            const ResidentNode &node = *m_places[i].node;
            const bool isOutOfZone = pod->staysInZone && node.label(zoneLabel) != from.label(zoneLabel);
            if (node.name == from.name || isOutOfZone || (may && !may(node))
                || !misfit(pod->needs, node.shape).empty())
                continue;
            NodeRoom room = taken.contains(i) ? taken[i] : m_places[i].room;
            isPlaced = room.take(pod->needs);
            if (isPlaced)
                taken[i] = std::move(room);
        }
        if (!isPlaced)
            return false;
    }
    for (auto &[i, room] : taken)
        m_places[i].room = std::move(room);
    return true;
}

} // namespace cluster::local
