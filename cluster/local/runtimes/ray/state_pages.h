#pragma once

#include "cluster/httpd/server_message.h"
#include "cluster/local/runtimes/ray/node_table.h"
#include "cluster/local/runtimes/ray/ray_jobs.h"
#include "cluster/local/runtimes/ray/serve_state.h"

#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

/// GET /api/v0/NAME: lists with filters and limits, and summaries (`ray list`, `ray summary`). There are no
/// tasks, objects, workers or placement groups here: those lists are empty.
ServerResponse statePage(const ServerRequest &request, const NodeTable &nodes, const ServeState &serve,
                         const RayJobs &jobs, const std::string &rayVersion);

/// The actors that there are (Serve's controller, proxies and replicas), as /api/v0/actors has them.
nlohmann::json stateOfActors(const ServeState &serve, const NodeTable &nodes, bool hasDetail);

/// The same as /logical/actors has them: by id, camel-cased. \param node  only of this one; empty: all
nlohmann::json logicalActors(const ServeState &serve, const NodeTable &nodes, const std::string &node);

} // namespace cluster::local
