#include "cluster/local/lws/lws_defaults.h"

#include "cluster/local/lws/typed_form.h"
#include "cluster/local/nodes/json_access.h"

#include <nlohmann/json.hpp>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

void fillRestartPolicy(Json &spec)
{
    if (!at(spec, "leaderWorkerTemplate").is_object())
        return;
    Json &group = spec["leaderWorkerTemplate"];
    const std::string policy = text(group, "restartPolicy");
    if (policy.empty())
        group["restartPolicy"] = "RecreateGroupOnPodRestart";
    else if (policy == "Default") // its old name
        group["restartPolicy"] = "None";
}

void fillRollout(Json &spec)
{
    Json rollout = at(spec, "rolloutStrategy").is_object() ? spec["rolloutStrategy"] : Json::object();
    if (text(rollout, "type").empty())
        rollout["type"] = "RollingUpdate";
    if (text(rollout, "type") == "RollingUpdate" && !at(rollout, "rollingUpdateConfiguration").is_object())
        rollout["rollingUpdateConfiguration"] = {{"maxUnavailable", 1}, {"maxSurge", 0}, {"partition", 0}};
    spec["rolloutStrategy"] = std::move(rollout);
}

void fillNetwork(Json &spec)
{
    Json network = at(spec, "networkConfig").is_object() ? spec["networkConfig"] : Json::object();
    if (text(network, "subdomainPolicy").empty())
        network["subdomainPolicy"] = "Shared";
    spec["networkConfig"] = std::move(network);
}

} // namespace

Json defaultsPatch(const Json &lws)
{
    if (!at(lws, "spec").is_object())
        return Json::array();
    Json filled = lws;
    Json &spec = filled["spec"];
    fillRestartPolicy(spec);
    fillRollout(spec);
    fillNetwork(spec);
    makeTyped(spec);
    return Json::diff(lws, filled);
}

} // namespace cluster::local
