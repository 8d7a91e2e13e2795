#pragma once

#include "cluster/kube/resource_path.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cluster::local {

struct PlacedObject
{
    ResourcePath path;
    nlohmann::json object;
};

/// What registers the TPU webhook with an API server, in this order: the namespace ray-system, a Service
/// without selector, its EndpointSlice (`address` 10.x and `port`), and the two configurations with the
/// names, rules and selectors of the webhook's chart.
[[nodiscard]] std::vector<PlacedObject> webhookObjects(const std::string &address, std::uint16_t port,
                                                       const std::string &caPem);

/// Those of them that call the webhook, for taking it off again.
[[nodiscard]] std::vector<ResourcePath> webhookConfigurations();

} // namespace cluster::local
