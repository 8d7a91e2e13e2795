#include "cluster/local/nodes/pod_needs.h"

#include "cluster/local/nodes/json_access.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

constexpr const char *anyValue = "\1"; // operator Exists

using json_access::at;
using json_access::text;

std::map<std::string, std::string> textMap(const Json &object)
{
    std::map<std::string, std::string> map;
    if (object.is_object()) {
        for (const auto &[key, value] : object.items())
            map[key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
    return map;
}

Amounts amounts(const Json &list)
{
    Amounts result;
    for (const auto &[key, value] : textMap(list)) {
        if (const auto amount = parseQuantity(value))
            result[key] = *amount;
    }
    return result;
}

/// A container's requests; a limit without a request is one.
Amounts requestsOf(const Json &container)
{
    const Json &resources = at(container, "resources");
    Amounts requests = amounts(at(resources, "limits"));
    for (const auto &[key, value] : amounts(at(resources, "requests")))
        requests[key] = value;
    return requests;
}

void add(Amounts &sum, const Amounts &more)
{
    for (const auto &[key, value] : more)
        sum[key] += value;
}

/// Containers together with sidecars; an ordinary init container needs its own and the sidecars before it.
Amounts podRequests(const Json &spec)
{
    Amounts sum;
    Amounts peak;
    for (const Json &container : at(spec, "initContainers")) {
        const Amounts own = requestsOf(container);
        if (text(container, "restartPolicy") == "Always") {
            add(sum, own);
            continue;
        }
        Amounts during = sum;
        add(during, own);
        for (const auto &[key, value] : during)
            peak[key] = std::max(peak[key], value);
    }
    for (const Json &container : at(spec, "containers"))
        add(sum, requestsOf(container));
    for (const auto &[key, value] : peak)
        sum[key] = std::max(sum[key], value);
    add(sum, amounts(at(spec, "overhead")));
    sum["pods"] = 1;
    return sum;
}

void readAffinity(const Json &affinity, PodNeeds &needs)
{
    const Json &required = at(at(affinity, "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution");
    for (const Json &term : at(required, "nodeSelectorTerms")) {
        std::vector<NodeRequirement> requirements;
        for (const Json &expression : at(term, "matchExpressions")) {
            NodeRequirement requirement{text(expression, "key"), text(expression, "operator"), {}};
            for (const Json &value : at(expression, "values")) {
                if (value.is_string())
                    requirement.values.push_back(value.get<std::string>());
            }
            requirements.push_back(std::move(requirement));
        }
        needs.hasNodeFields = needs.hasNodeFields || !at(term, "matchFields").empty();
        needs.terms.push_back(std::move(requirements));
    }
    for (const Json &term :
         at(at(affinity, "podAntiAffinity"), "requiredDuringSchedulingIgnoredDuringExecution"))
        needs.isAloneOnNode = needs.isAloneOnNode || text(term, "topologyKey") == "kubernetes.io/hostname";
    needs.isBoundToOthers
        = !at(at(affinity, "podAffinity"), "requiredDuringSchedulingIgnoredDuringExecution").empty();
}

std::optional<long> number(const std::string &text)
{
    long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

bool tolerates(const PodNeeds &pod, const NodeTaint &taint)
{
    return std::any_of(pod.tolerations.begin(), pod.tolerations.end(), [&](const NodeTaint &toleration) {
        const bool isKey
            = toleration.key.empty() ? toleration.value == anyValue : toleration.key == taint.key;
        return isKey && (toleration.value == anyValue || toleration.value == taint.value)
            && (toleration.effect.empty() || toleration.effect == taint.effect);
    });
}

bool hasRoom(const Amounts &free, const Amounts &requests)
{
    return std::all_of(requests.begin(), requests.end(), [&](const auto &request) {
        if (request.second <= 0)
            return true;
        const auto found = free.find(request.first);
        return found != free.end() && request.second <= found->second * (1 + 1e-9);
    });
}

} // namespace

std::optional<double> parseQuantity(std::string_view text)
{
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc())
        return std::nullopt;
    const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    struct Unit
    {
        std::string_view name;
        double factor;
    };
    constexpr Unit units[]
        = {{"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},   {"k", 1e3},     {"M", 1e6},
           {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {"E", 1e18},   {"Ki", 1024.0}, {"Mi", 1048576.0},
           {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};
    for (const Unit &known : units) {
        if (known.name == unit)
            return value * known.factor;
    }
    return std::nullopt;
}

std::string PodNeeds::wanted(const std::string &label) const
{
    if (const auto found = selector.find(label); found != selector.end())
        return found->second;
    for (const auto &term : terms) {
        for (const NodeRequirement &requirement : term) {
            if (requirement.key == label && requirement.op == "In" && !requirement.values.empty())
                return requirement.values.front();
        }
    }
    return {};
}

double PodNeeds::amount(const std::string &resource) const
{
    const auto found = requests.find(resource);
    return found == requests.end() ? 0 : found->second;
}

PodNeeds podNeeds(const Json &pod)
{
    const Json &metadata = at(pod, "metadata");
    const Json &spec = at(pod, "spec");
    PodNeeds needs;
    needs.space = text(metadata, "namespace");
    needs.name = text(metadata, "name");
    needs.uid = text(metadata, "uid");
    needs.requests = podRequests(spec);
    needs.selector = textMap(at(spec, "nodeSelector"));
    readAffinity(at(spec, "affinity"), needs);
    for (const Json &toleration : at(spec, "tolerations"))
        needs.tolerations.push_back(
            {text(toleration, "key"),
             text(toleration, "operator") == "Exists" ? anyValue : text(toleration, "value"),
             text(toleration, "effect")});
    needs.hasClaims = !at(spec, "resourceClaims").empty();
    for (const Json &condition : at(at(pod, "status"), "conditions")) {
        if (text(condition, "type") == "PodScheduled")
            needs.whyPending = text(condition, "message");
    }
    return needs;
}

bool meets(const NodeRequirement &requirement, const std::map<std::string, std::string> &labels)
{
    const auto found = labels.find(requirement.key);
    const bool isThere = found != labels.end();
    const auto isListed = [&] {
        return std::find(requirement.values.begin(), requirement.values.end(), found->second)
            != requirement.values.end();
    };
    if (requirement.op == "In")
        return isThere && isListed();
    if (requirement.op == "NotIn")
        return !isThere || !isListed();
    if (requirement.op == "Exists")
        return isThere;
    if (requirement.op == "DoesNotExist")
        return !isThere;
    if (!isThere || requirement.values.size() != 1)
        return false;
    const auto has = number(found->second);
    const auto wants = number(requirement.values[0]);
    if (!has || !wants)
        return false;
    return requirement.op == "Gt" ? *has > *wants : requirement.op == "Lt" && *has < *wants;
}

bool isUnschedulable(const Json &pod)
{
    if (at(pod, "metadata").contains("deletionTimestamp") || !text(at(pod, "spec"), "nodeName").empty())
        return false;
    const Json &conditions = at(at(pod, "status"), "conditions");
    return std::any_of(conditions.begin(), conditions.end(), [](const Json &condition) {
        return text(condition, "type") == "PodScheduled" && text(condition, "status") == "False"
            && text(condition, "reason") == "Unschedulable";
    });
}

NodeTemplate nodeTemplate(const Json &node)
{
    NodeTemplate result;
    result.labels = textMap(at(at(node, "metadata"), "labels"));
    for (const Json &taint : at(at(node, "spec"), "taints"))
        result.taints.push_back({text(taint, "key"), text(taint, "value"), text(taint, "effect")});
    result.allocatable = amounts(at(at(node, "status"), "allocatable"));
    return result;
}

std::string misfit(const PodNeeds &pod, const NodeTemplate &node)
{
    const bool isSelected = std::all_of(pod.selector.begin(), pod.selector.end(), [&](const auto &entry) {
        const auto found = node.labels.find(entry.first);
        return found != node.labels.end() && found->second == entry.second;
    });
    const bool isTermMet
        = pod.terms.empty() || std::any_of(pod.terms.begin(), pod.terms.end(), [&](const auto &term) {
              return std::all_of(term.begin(), term.end(),
                                 [&](const auto &requirement) { return meets(requirement, node.labels); });
          });
    if (!isSelected || !isTermMet || pod.hasNodeFields)
        return "node(s) didn't match Pod's node affinity/selector";
    for (const NodeTaint &taint : node.taints) {
        if (taint.effect != "PreferNoSchedule" && !tolerates(pod, taint))
            return "node(s) had untolerated taint {" + taint.key + ": " + taint.value + "}";
    }
    for (const auto &[resource, amount] : pod.requests) {
        if (!hasRoom(node.allocatable, {{resource, amount}}))
            return "Insufficient " + resource;
    }
    return {};
}

bool NodeRoom::take(const PodNeeds &pod)
{
    if ((pod.isAloneOnNode && hasLoner) || !hasRoom(free, pod.requests))
        return false;
    for (const auto &[resource, amount] : pod.requests)
        free[resource] -= amount;
    hasLoner = hasLoner || pod.isAloneOnNode;
    return true;
}

Packing packed(const std::vector<const PodNeeds *> &pods, const NodeTemplate &node, int limit)
{
    Packing packing;
    for (const PodNeeds *pod : pods) {
        bool isPlaced = std::any_of(packing.nodes.begin(), packing.nodes.end(),
                                    [&](NodeRoom &room) { return room.take(*pod); });
        if (!isPlaced && static_cast<int>(packing.nodes.size()) < limit) {
            packing.nodes.push_back({node.allocatable, false});
            isPlaced = packing.nodes.back().take(*pod);
        }
        if (isPlaced)
            packing.placed.push_back(pod);
    }
    return packing;
}

} // namespace cluster::local
