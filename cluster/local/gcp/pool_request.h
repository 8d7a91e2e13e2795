#pragma once

#include "cluster/catalog/gke_catalog.h"
#include "cluster/local/gcp/compute_catalog.h"
#include "cluster/local/gcp/google_error.h"
#include "cluster/local/nodes/pool_spec.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// What a node pool's rules need to know of its cluster.
struct PoolSurroundings
{
    std::string version; ///< of the control plane
    std::string location; ///< zone or region of the cluster
    std::vector<std::string> zones; ///< of the cluster's nodes
    bool isAutopilot = false;
    bool workloadIdentity = false;
    bool dataplaneV2 = false;
};

/// A node pool as its JSON asks for it: the spec for the nodes, and what only the rules look at.
struct PoolRequest
{
    PoolSpec spec;
    std::optional<int> initialNodeCount; ///< per zone
    int minPerZone = 0;
    int maxPerZone = 0;
    int totalMin = 0;
    int totalMax = 0;
    std::string requestedTopology; ///< placementPolicy.tpuTopology
    std::string placementPolicy; ///< name of a resource policy of Compute Engine, without its path
    std::string gpuType; ///< config.accelerators[0]
    int gpuCount = 0;
    bool isFlexStart = false;
    bool isQueued = false;
    bool isCompact = false; ///< placed close together by request
    std::string locationPolicy; ///< of autoscaling: "ANY", "BALANCED" or empty
    std::string maxRunDuration; ///< "604800s" or empty
    bool autoRepair = true;
    bool usesReservation = false; ///< a specific one
    bool takesAnyReservation = false;
    std::string reservationKey; ///< of its affinity
    std::vector<std::string> reservations; ///< names as they were given, also "projects/P/reservations/R"
    std::string upgradeStrategy; ///< "SURGE", "BLUE_GREEN" or empty
    int secondaryBootDisks = 0;
    bool streamsImages = false;
    bool hasZonesOfItsOwn = false; ///< locations were named
};

/// Reads a NodePool of the API. Throws nlohmann's exceptions for fields of the wrong type.
/// Errors: InvalidArgument.
GoogleResult<PoolRequest> poolRequestOf(const nlohmann::json &pool, const PoolSurroundings &surroundings,
                                        const GkeCatalog &gke, const ComputeCatalog &compute);

/// An integer that may come as a number or as a text ("8"), as int64 does in JSON. Throws json::type_error.
std::int64_t integerOf(const nlohmann::json &value);

} // namespace cluster::local
