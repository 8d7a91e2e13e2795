#pragma once

#include "cluster/local/nodes/pool_spec.h"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster::local {

/// Amounts by resource name, in whole units (cores, bytes, chips).
using Amounts = std::map<std::string, double>;

/// "100m", "1.5Gi", "2e3"; nothing if it is no quantity.
std::optional<double> parseQuantity(std::string_view text);

/// One expression of a node selector.
struct NodeRequirement
{
    std::string key;
    std::string op; ///< In, NotIn, Exists, DoesNotExist, Gt, Lt
    std::vector<std::string> values;
};

/// What of a pod decides where it may run.
struct PodNeeds
{
    std::string space, name, uid;
    Amounts requests; ///< with 1 of "pods"
    std::map<std::string, std::string> selector;
    std::vector<std::vector<NodeRequirement>> terms; ///< required node affinity: one of them; empty: any
    bool hasNodeFields = false; ///< matchFields: only a certain node
    std::vector<NodeTaint> tolerations; ///< empty key: all; empty effect: all effects; value "\1": any
    bool isAloneOnNode = false; ///< refuses its like on the same host (anti-affinity by hostname)
    bool hasClaims = false; ///< resource claims (DRA)
    bool isBoundToOthers = false; ///< required affinity to other pods
    std::string whyPending; ///< the scheduler's words

    /// Of the selector, or of an `In` with one value in each term; empty: not asked for.
    [[nodiscard]] std::string wanted(const std::string &label) const;
    [[nodiscard]] double amount(const std::string &resource) const;
};

PodNeeds podNeeds(const nlohmann::json &pod);

/// Whether labels fulfil an expression.
bool meets(const NodeRequirement &requirement, const std::map<std::string, std::string> &labels);

/// True for a pod that the scheduler has said it finds no node for.
bool isUnschedulable(const nlohmann::json &pod);

/// A node that is, or that would come.
struct NodeTemplate
{
    std::map<std::string, std::string> labels;
    std::vector<NodeTaint> taints;
    Amounts allocatable;
};

NodeTemplate nodeTemplate(const nlohmann::json &node);

/// Why the pod can't run on an empty node like this, in the autoscaler's words; empty: it can.
std::string misfit(const PodNeeds &pod, const NodeTemplate &node);

/// What is left of a node.
struct NodeRoom
{
    Amounts free;
    bool hasLoner = false; ///< a pod that refuses its like

    /// False where there is no room. Labels and taints are not looked at: misfit().
    bool take(const PodNeeds &pod);
};

/// Where pods found a place on empty nodes.
struct Packing
{
    std::vector<NodeRoom> nodes; ///< those that are used, with what is left of each
    std::vector<const PodNeeds *> placed;
};

/// Places the pods one after the other, each on the first node that has room, on at most `limit` nodes like
/// the template; each pod must fit it.
Packing packed(const std::vector<const PodNeeds *> &pods, const NodeTemplate &node, int limit);

} // namespace cluster::local
