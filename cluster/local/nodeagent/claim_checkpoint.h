#pragma once

#include "cluster/base/result.h"
#include "cluster/local/nodeagent/time_text.h"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cluster::local {

/// A device that a claim was given, as its driver prepared it.
struct ClaimedDevice
{
    std::string driver, pool, device; ///< as in the claim's allocation
    std::string interfaceName; ///< within the pod
    std::string hardwareAddress;
    std::vector<std::string> addresses; ///< CIDR; those that the node's card has, or the claim's own
    bool isRdma = false;
};

/// A ResourceClaim that pods of this agent use.
struct HeldClaim
{
    std::string nameSpace, name, uid;
    std::set<std::string> pods; ///< uids
    bool isPrepared = false; ///< else pods wait for it
    Time preparedAt;
    std::vector<ClaimedDevice> devices;
};

/// By "namespace/name".
using HeldClaims = std::map<std::string, HeldClaim>;

/// What was written last; nothing where there is no such file. DataLoss: it is none of ours or damaged.
Result<HeldClaims> readClaimCheckpoint(const std::filesystem::path &file);

/// Replaces the file as a whole, on the disk when this returns. ResourceExhausted: it can't be written.
Status writeClaimCheckpoint(const std::filesystem::path &file, const HeldClaims &claims);

} // namespace cluster::local
