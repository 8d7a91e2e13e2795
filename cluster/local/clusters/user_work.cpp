#include "cluster/local/clusters/user_work.h"

#include "cluster/kube/kube_client.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

constexpr std::chrono::seconds patience{5};

bool isSuspended(const nlohmann::json &cronJob)
{
    const auto spec = cronJob.find("spec");
    return spec != cronJob.end() && spec->is_object() && spec->value("suspend", false);
}

} // namespace

bool hasUserWork(KubeClient &client)
{
    KubeCallOptions call;
    call.deadline = Deadline::after(patience);
    call.retries = 0;
    KubeListOptions active;
    active.fieldSelector = "status.phase!=Succeeded,status.phase!=Failed,metadata.namespace!=kube-system";
    active.limit = 1;
    const auto pods = client.list(coreV1("pods"), active, call);
    if (!pods || !pods->items.empty())
        return true;
    const auto cronJobs = client.list(apiGroup("batch", "v1", "cronjobs"), {}, call);
    return !cronJobs || !std::ranges::all_of(cronJobs->items, isSuspended);
}

} // namespace cluster::local
