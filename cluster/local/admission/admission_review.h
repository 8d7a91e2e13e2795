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
    std::string operation; ///< "CREATE", "UPDATE"
    nlohmann::json object;
    nlohmann::json oldObject; ///< of an update; else null
};

/// InvalidArgument: `body` is no AdmissionReview with a request and its object.
[[nodiscard]] Result<AdmissionQuestion> parseAdmissionReview(const std::string &body);

/// Admitted, with a JSON patch (an empty one is left out).
[[nodiscard]] nlohmann::json admittedWith(const std::string &uid, const nlohmann::json &patch);

/// Refused with a text. Without a code, as the TPU webhook answers, the API server makes 400 of it; with 403
/// it is the Forbidden of webhooks made with controller-runtime.
[[nodiscard]] nlohmann::json refusedWith(const std::string &uid, const std::string &message, int code = 0);

} // namespace cluster::local
