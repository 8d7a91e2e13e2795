#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace cluster::local {

/// What the adapter says of itself. One metric is listed, as the real one does it without
/// --list-full-custom-metrics: those who look only want to see that the group is there.
///
/// \param path  "/apis", "/apis/custom.metrics.k8s.io", "/apis/custom.metrics.k8s.io/v1beta2", …
/// \param isAggregated  The client takes apidiscovery.k8s.io/v2, which only "/apis" has.
/// Nothing for a path that is none of discovery's.
std::optional<nlohmann::json> adapterDiscovery(const std::string &path, bool isAggregated);

} // namespace cluster::local
