#pragma once

#include "cluster/local/nodes/auto_pools.h"

#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// The size of a machine type, from the catalogue. Nothing: there is no such type.
[[nodiscard]] std::optional<MachineShape> machineShape(const std::string &machineType);

/// The machine types that can be had in some of these zones, each with those of them that have it.
[[nodiscard]] std::vector<MachineOffer> machineOffers(const std::vector<std::string> &zones);

} // namespace cluster::local
