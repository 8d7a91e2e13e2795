#pragma once

#include <nlohmann/json_fwd.hpp>

namespace cluster::local {

/// The schema of a ComputeClass's spec and status as GKE's definition has them: types, bounds, choices and
/// the CEL rules with the messages that users see. What tunes kernels and kubelets (nodeSystemConfig) is
/// taken as it comes, except where a rule asks for it: no node here has a kernel of its own.
nlohmann::json computeClassSpecSchema();
nlohmann::json computeClassStatusSchema();

/// The CEL rules over a whole spec, and over one priority.
nlohmann::json computeClassSpecRules();
nlohmann::json computeClassPriorityRules();

} // namespace cluster::local
