#pragma once

#include "cluster/local/runtimes/ray/node_table.h"
#include "cluster/local/runtimes/ray/serve_state.h"

#include <nlohmann/json.hpp>

namespace cluster::local {

/// The body of GET /api/serve/applications/, in Ray 2.60's shape (contracts:
/// observed-ray/02-serve-get-running.http). \param declarative  false: api_type=imperative, applications that
/// code has deployed: there are none.
nlohmann::json serveDetails(const ServeState &state, const NodeTable &nodes, bool declarative);

} // namespace cluster::local
