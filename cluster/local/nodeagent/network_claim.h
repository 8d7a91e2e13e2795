#pragma once

#include "cluster/base/result.h"
#include "cluster/local/nodeagent/claim_checkpoint.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cluster::local {

inline constexpr const char *networkDriver = "dra.net";

/// What GKE's network driver makes of a claim that was allocated to it: its devices with the interface that
/// each becomes in the pod. No I/O.
/// \param slices  The node's ResourceSlices. The claim's own configuration (opaque, of the driver) may rename
///     the interface and give it addresses. Errors are the driver's words.
Result<std::vector<ClaimedDevice>> networkDevicesOf(const nlohmann::json &claim,
                                                    const std::vector<nlohmann::json> &slices);

/// The claim's status as the driver applies it (server-side, of its fields alone).
nlohmann::json networkClaimStatus(const HeldClaim &claim);

} // namespace cluster::local
