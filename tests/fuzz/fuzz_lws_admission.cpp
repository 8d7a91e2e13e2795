// What an API server may send LeaderWorkerSet's webhooks: any AdmissionReview, with any object.

#include "cluster/local/lws/lws_admission.h"
#include "cluster/local/lws/lws_objects.h"
#include "cluster/local/lws/lws_revision.h"
#include "cluster/local/lws/lws_rollout.h"
#include "cluster/local/lws/lws_status.h"

#include <cstdint>
#include <cstdlib>

using namespace cluster::local;

namespace {

/// What the controller makes of objects that were admitted.
void passOver(const nlohmann::json &object)
{
    const LwsSpec spec = lwsSpec(object);
    const nlohmann::json revision = newRevision(object, {object});
    if (!isRevisionOf(revision, object))
        std::abort();
    (void)leaderStatefulSet(object, {0, spec.replicas}, "k");
    (void)workerStatefulSet(object, object, revision, "t");
    const GroupObjects groups{{object}, {object}};
    const auto states = groupStates(spec, groups, 3, "k");
    (void)nextStep(spec, LeaderSet{{2, 3}, 3}, false, states);
    (void)lwsStatus(object, groups, 1, "k", "now");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::string body(reinterpret_cast<const char *>(data), size);
    for (const char *path : {"/mutate-leaderworkerset-x-k8s-io-v1-leaderworkerset", "/mutate--v1-pod",
                             "/validate-leaderworkerset-x-k8s-io-v1-leaderworkerset", "/validate--v1-pod"}) {
        const auto answer = lwsAdmission(path, body);
        if (!answer || !answer->review["response"]["allowed"].is_boolean())
            std::abort();
    }
    const auto review = nlohmann::json::parse(body, nullptr, false);
    if (review.is_object() && review.contains("request") && review["request"].is_object()
        && review["request"].contains("object") && review["request"]["object"].is_object())
        passOver(review["request"]["object"]);
    return 0;
}
