#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace cluster::local {

struct LwsAnswer
{
    nlohmann::json review; ///< AdmissionReview with the response
    std::string refusal; ///< why it was refused; empty: it was not
};

/// What the manager's webhooks answer. `path` is one of the manifest's: /mutate-…, /validate-… of
/// LeaderWorkerSets and of pods. DisaggregatedSets are refused: the local target does not play them. A body
/// that is no AdmissionReview is refused, as controller-runtime does it. Nothing: there is no such path.
[[nodiscard]] std::optional<LwsAnswer> lwsAdmission(const std::string &path, const std::string &body);

} // namespace cluster::local
