#include "cluster/local/lws/lws_admission.h"

#include "cluster/local/admission/admission_review.h"
#include "cluster/local/lws/group_pod.h"
#include "cluster/local/lws/lws_defaults.h"
#include "cluster/local/lws/lws_validation.h"

#include <array>
#include <string_view>

namespace cluster::local {

using Json = nlohmann::json;

namespace {

/// A JSON patch, or why not.
using Judge = Result<Json> (*)(const AdmissionQuestion &);

struct Webhook
{
    std::string_view path;
    Judge judge;
};

Result<Json> fillSet(const AdmissionQuestion &question)
{
    return defaultsPatch(question.object);
}

Result<Json> checkSet(const AdmissionQuestion &question)
{
    const Status checked = checkLeaderWorkerSet(question.object, question.oldObject);
    return checked ? Result<Json>(Json::array()) : tl::unexpected(checked.error());
}

Result<Json> placePod(const AdmissionQuestion &question)
{
    return groupPodPatch(question.object, question.nameSpace);
}

Result<Json> admitPod(const AdmissionQuestion &)
{
    return Json::array();
}

Result<Json> refuseDisaggregatedSet(const AdmissionQuestion &)
{
    return fail(ErrorCode::Unimplemented,
                "the local target does not play DisaggregatedSets; make one LeaderWorkerSet for each role");
}

constexpr std::array webhooks{
    Webhook{"/mutate-leaderworkerset-x-k8s-io-v1-leaderworkerset", fillSet},
    Webhook{"/validate-leaderworkerset-x-k8s-io-v1-leaderworkerset", checkSet},
    Webhook{"/mutate--v1-pod", placePod},
    Webhook{"/validate--v1-pod", admitPod},
    Webhook{"/validate-disaggregatedset-x-k8s-io-v1-disaggregatedset", refuseDisaggregatedSet},
};

} // namespace

std::optional<LwsAnswer> lwsAdmission(const std::string &path, const std::string &body)
{
    for (const Webhook &webhook : webhooks) {
        if (webhook.path != path)
            continue;
        const auto question = parseAdmissionReview(body);
        if (!question)
            return LwsAnswer{refusedWith({}, question.error().message, 400), question.error().message};
        const Result<Json> judged = webhook.judge(*question);
        if (!judged)
            return LwsAnswer{refusedWith(question->uid, judged.error().message, 403), judged.error().message};
        return LwsAnswer{admittedWith(question->uid, *judged), {}};
    }
    return std::nullopt;
}

} // namespace cluster::local
