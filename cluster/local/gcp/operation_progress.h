#pragma once

#include "cluster/local/gcp/container_store.h"

#include <chrono>
#include <string>
#include <string_view>

namespace cluster::local {

/// How long Google takes for an operation, as people see it.
std::chrono::milliseconds usualDuration(const OperationRecord &operation, const nlohmann::json &cluster);
/// How long GKE tries to get machines before it gives up on a stockout.
constexpr std::chrono::minutes kStockoutPatience{35};

/// Words and numbers of a running operation as GKE shows them: `detail`, and `progress.metrics` that count
/// the steps. `done` is 0 to 1; `hostWords` say what the cluster's maker is at, empty: nothing.
/// False if nothing changed that anybody sees.
bool showProgress(OperationRecord &operation, double done, std::string_view hostWords);

/// Ends it: with an error (statusMessage, error, conditions: gcloud reads the first only), or well.
void showEnd(OperationRecord &operation, const Error *error, const std::string &conditionCode,
             const std::string &timestamp);

} // namespace cluster::local
