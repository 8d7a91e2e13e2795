#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cluster::local {

/// A LeaderWorkerSet's spec in the form that the controller's own types give it when they write it back:
/// empty structures that are never left out (a template's metadata, a container's resources), quantities in
/// their shortest form. The names of revisions are made of it. What the user wrote otherwise stays.
void makeTyped(nlohmann::json &spec);

/// A quantity in its shortest form: "1000m" and 1 are "1", 1000 is "1k", "1024Mi" is "1Gi". What is none, or
/// has more than 17 digits, comes back as text.
[[nodiscard]] std::string shortestQuantity(const nlohmann::json &quantity);

} // namespace cluster::local
