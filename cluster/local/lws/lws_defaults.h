#pragma once

#include <nlohmann/json_fwd.hpp>

namespace cluster::local {

/// What the mutating webhook does to a LeaderWorkerSet, as a JSON patch (RFC 6902): its defaults (those that
/// the CRD's schema doesn't have), and the form in which its types write the object back.
[[nodiscard]] nlohmann::json defaultsPatch(const nlohmann::json &lws);

} // namespace cluster::local
