#include "cluster/local/admission/admission_review.h"

#include "cluster/local/admission/base64_text.h"
#include "cluster/local/nodes/json_access.h"

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

Json review(Json response)
{
    return {{"kind", "AdmissionReview"},
            {"apiVersion", "admission.k8s.io/v1"},
            {"response", std::move(response)}};
}

} // namespace

Result<AdmissionQuestion> parseAdmissionReview(const std::string &body)
{
    Json review = Json::parse(body, nullptr, false);
    const Json &request = at(review, "request");
    const Json &object = at(request, "object");
    AdmissionQuestion question{text(request, "uid"), text(request, "namespace"), text(request, "operation"),
                               object, at(request, "oldObject")};
    if (question.uid.empty() || !object.is_object())
        return fail(ErrorCode::InvalidArgument,
                    "not an AdmissionReview with a request, its uid and its object");
    return question;
}

Json admittedWith(const std::string &uid, const Json &patch)
{
    Json response{{"uid", uid}, {"allowed", true}};
    if (!patch.empty()) {
        response["patchType"] = "JSONPatch";
        response["patch"] = base64Text(patch.dump());
    }
    return review(std::move(response));
}

Json refusedWith(const std::string &uid, const std::string &message, int code)
{
    Json status{{"status", "Failure"}, {"message", message}};
    if (code != 0)
        status["code"] = code;
    if (code == 403)
        status["reason"] = "Forbidden";
    return review({{"uid", uid}, {"allowed", false}, {"status", std::move(status)}});
}

} // namespace cluster::local
