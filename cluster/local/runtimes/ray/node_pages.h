#pragma once

#include "cluster/local/runtimes/ray/node_table.h"

#include <functional>
#include <nlohmann/json.hpp>

namespace cluster::local {

/// What of a node's resources is in use.
using UsedResources = std::function<RayResources(const std::string &node)>;

/// GET /nodes?view=summary: `data`. Camel-cased names and live numbers of each node; a dead one without name
/// and address, as the real one.
nlohmann::json nodesSummary(const NodeTable &nodes, const UsedResources &used, const std::string &session);
/// GET /nodes/ID: `data`. An unknown id has an almost empty `detail`. \param actors  of that node, by id
nlohmann::json nodeDetail(const NodeTable &nodes, const std::string &id, const nlohmann::json &actors,
                          const std::string &session);
/// GET /api/cluster_status: `data`.
nlohmann::json clusterStatus(const NodeTable &nodes, const UsedResources &used);
/// GET /api/cluster_status?format=1: what `ray status` prints.
std::string clusterStatusText(const NodeTable &nodes, const UsedResources &used);
/// GET /api/v0/nodes: the list. \param hasDetail  with start and end times
nlohmann::json stateOfNodes(const NodeTable &nodes, bool hasDetail);
/// GET /api/prometheus/sd
nlohmann::json metricTargets(const NodeTable &nodes);

} // namespace cluster::local
