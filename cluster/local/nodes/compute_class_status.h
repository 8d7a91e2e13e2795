#pragma once

#include "cluster/local/nodes/auto_pools.h"
#include "cluster/local/nodes/node_object.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cluster::local {

/// What the autoscaler has met with while it followed one rule of a ComputeClass.
struct RuleState
{
    std::string coming; ///< pool whose nodes are on their way; empty: none
    std::string reason; ///< of the failure that keeps it from trying: "OutOfResources"; empty: none
    UnixTime until{0}; ///< of that
    bool isWhole = false; ///< in all zones
};

/// What a class's health depends on.
struct ClassSurroundings
{
    std::vector<PoolSpec> pools;
    const std::vector<MachineOffer> *offers = nullptr; ///< machines in the cluster's zones
    std::function<std::optional<MachineShape>(const std::string &machineType)> machine; ///< known to Google
    bool mayCreate = false; ///< pools are made for it
    std::vector<RuleState> rules; ///< by priority
};

/// The status that GKE's autoscaler would write: condition Health, what is wrong with the class or its pools
/// (CrdMisconfigured, RuleMisconfigured, NodepoolMisconfigured), and by priority what is being provisioned or
/// held back. Times of transition are kept where a condition says the same as before.
nlohmann::json computeClassStatus(const nlohmann::json &computeClass, const ClassSurroundings &around,
                                  UnixTime now);

/// Zones in which the rule's machines can be had.
std::vector<std::string> zonesOf(const PoolWish &rule, const std::vector<MachineOffer> &offers);

} // namespace cluster::local
