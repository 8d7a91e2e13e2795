#pragma once

#include "cluster/base/result.h"

#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

/// What an API server asks a webhook: admission.k8s.io/v1 AdmissionReview.
struct AdmissionQuestion
{
    std::string uid;
    std::string nameSpace;
    nlohmann::json object;
};

/// InvalidArgument: `body` is no AdmissionReview with a request and its object.
[[nodiscard]] Result<AdmissionQuestion> parseAdmissionReview(const std::string &body);

/// Admitted, with a JSON patch (an empty one is left out).
[[nodiscard]] nlohmann::json admittedWith(const std::string &uid, const nlohmann::json &patch);

/// Refused with a text; no code, as the TPU webhook answers: the API server makes 400 of it.
[[nodiscard]] nlohmann::json refusedWith(const std::string &uid, const std::string &message);

} // namespace cluster::local
