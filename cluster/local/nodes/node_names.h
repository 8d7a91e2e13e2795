#pragma once

#include "cluster/local/nodes/pool_spec.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace cluster::local {

/// FNV-1a, 64 bits: the same on every machine and in every version, since names that are stored come of it.
std::uint64_t stableHash(std::string_view text);

/// `digits` hexadecimal digits of stableHash(text).
std::string stableHex(std::string_view text, int digits);

/// The name of the VM in `slot` (from 0) of a pool, as managed instance groups name theirs:
/// gke-<cluster>-<pool>-<8 hex>-<4>, of slices gke-tpu-<8 hex>-<4>, of Autopilot gk3-…. The same slot always
/// gets the same name, unless `attempt` differs (where the name is taken).
std::string nodeName(const std::string &project, const std::string &clusterName, const PoolSpec &pool,
                     const std::string &zone, int slot, int attempt = 0);

} // namespace cluster::local
