#pragma once

#include "cluster/local/nodeagent/init/launch_spec.h"

#include <string>

namespace cluster::local {

/// Makes namespaces of its own for this process (and its children, for processes). As root without a user
/// namespace, else with one in which the user stays who it is. False, with errno, where the machine forbids
/// it.
bool makeNamespaces(bool mounts, bool processes);

/// Fills `root` with this machine's root and binds the mounts into it; where a target's parents don't exist,
/// empty folders are laid over the lowest one that does. Nothing of it is seen outside of this mount
/// namespace. \returns what failed and why; empty: nothing.
std::string buildRoot(const std::string &root, const std::vector<LaunchMount> &mounts);

} // namespace cluster::local
