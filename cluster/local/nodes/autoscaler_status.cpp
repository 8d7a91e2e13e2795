#include "cluster/local/nodes/autoscaler_status.h"

#include "cluster/kube/kube_client.h"

#include <algorithm>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

constexpr UnixTime longestSilence{10};

bool needsQuotes(const std::string &text)
{
    const bool isTime = text.size() == 20 && text[10] == 'T' && text.back() == 'Z';
    return text.empty() || isTime || text.find(": ") != std::string::npos
        || text.find_first_of("#\"'\n{}[]&*!|>%@`") != std::string::npos;
}

std::string scalar(const Json &value)
{
    if (!value.is_string())
        return value.dump(); // numbers, true, null, {}
    const auto text = value.get<std::string>();
    return needsQuotes(text) ? value.dump() : text;
}

/// YAML as Kubernetes' tools print it: members in the order of their names.
std::string yaml(const Json &object, const std::string &indent)
{
    std::string text;
    for (const auto &[key, value] : object.items()) {
        const bool isNested = value.is_object() && !value.empty();
        text += indent + key + ':' + (isNested || value.is_array() ? "\n" : ' ' + scalar(value) + '\n');
        if (isNested)
            text += yaml(value, indent + "  ");
        if (!value.is_array())
            continue;
        for (const Json &entry : value) {
            std::string lines = yaml(entry, indent + "  ");
            lines.replace(indent.size(), 2, "- ");
            text += lines;
        }
    }
    return text;
}

Json nodeCounts(int ready, int notReady)
{
    return Json{{"longUnregistered", 0},
                {"registered",
                 {{"notStarted", 0},
                  {"ready", ready},
                  {"total", ready + notReady},
                  {"unready", {{"resourceUnready", 0}, {"total", notReady}}}}},
                {"unregistered", 0}};
}

const char *scaleUpStatus(const NodeGroupState &state)
{
    if (state.isGrowing)
        return "InProgress";
    return state.backoffCode.empty() ? "NoActivity" : "Backoff";
}

/// "2026-07-18 22:01:55.000000000 +0000 UTC", as Go prints a time.
std::string goTime(UnixTime time)
{
    std::string text = timestamp(time);
    text[10] = ' ';
    text.back() = '.';
    return text + "000000000 +0000 UTC";
}

/// The text without the times at which it was looked.
std::string withoutProbes(const std::string &text)
{
    std::string rest;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = text.find('\n', begin);
        const std::string line = text.substr(begin, end - begin);
        if (line.find("lastProbeTime") == std::string::npos && !line.starts_with("time:"))
            rest += line + '\n';
        begin = end + 1;
    }
    return rest;
}

} // namespace

Json AutoscalerStatus::part(const std::string &key, const std::string &status, UnixTime now, bool isActive)
{
    Seen &seen = m_seen[key];
    if (seen.status != status)
        seen = {status, now};
    // Of a group that never had nodes nothing was ever probed.
    return Json{{"status", status},
                {"lastProbeTime", isActive ? Json(timestamp(now)) : Json(nullptr)},
                {"lastTransitionTime", isActive ? Json(timestamp(seen.since)) : Json(nullptr)}};
}

Json AutoscalerStatus::group(const NodeGroupState &state, UnixTime now)
{
    const bool isActive = state.target > 0 || state.ready + state.notReady > 0 || !state.backoffCode.empty();
    Json health = part(state.name + "/health", state.notReady > 0 ? "Unhealthy" : "Healthy", now, isActive);
    health["nodeCounts"] = nodeCounts(state.ready, state.notReady);
    health["cloudProviderTarget"] = state.target;
    health["minSize"] = state.least;
    health["maxSize"] = state.most;
    Json scaleUp = part(state.name + "/up", scaleUpStatus(state), now, isActive);
    scaleUp["backoffInfo"] = Json::object();
    if (!state.backoffCode.empty())
        scaleUp["backoffInfo"] = {{"errorCode", state.backoffCode}, {"errorMessage", state.backoffMessage}};
    Json scaleDown
        = part(state.name + "/down", state.candidates > 0 ? "CandidatesPresent" : "NoCandidates", now);
    if (state.candidates > 0)
        scaleDown["candidates"] = state.candidates;
    return Json{{"name", state.name}, {"health", health}, {"scaleUp", scaleUp}, {"scaleDown", scaleDown}};
}

std::string AutoscalerStatus::text(const std::vector<NodeGroupState> &groups, UnixTime now)
{
    int ready = 0;
    int notReady = 0;
    int candidates = 0;
    bool isGrowing = false;
    Json all = Json::array();
    for (const NodeGroupState &state : groups) {
        ready += state.ready;
        notReady += state.notReady;
        candidates += state.candidates;
        isGrowing = isGrowing || state.isGrowing;
        all.push_back(group(state, now));
    }
    // The whole counts as well until 45 % of the nodes are not (and more than three of them).
    constexpr double mostUnready = 0.45;
    const bool isHealthy = notReady <= 3 || notReady <= mostUnready * (ready + notReady);
    Json health = part("health", isHealthy ? "Healthy" : "Unhealthy", now);
    health["nodeCounts"] = nodeCounts(ready, notReady);
    Json scaleDown = part("down", candidates > 0 ? "CandidatesPresent" : "NoCandidates", now);
    if (candidates > 0)
        scaleDown["candidates"] = candidates;
    Json status{{"autoscalerStatus", "Running"},
                {"clusterWide",
                 {{"health", health},
                  {"scaleDown", scaleDown},
                  {"scaleUp", part("up", isGrowing ? "InProgress" : "NoActivity", now)}}},
                {"nodeGroups", all},
                {"time", goTime(now)}};
    if (all.empty())
        status.erase("nodeGroups");
    return yaml(status, {});
}

void AutoscalerStatus::write(KubeClient &client, const std::vector<NodeGroupState> &groups, UnixTime now,
                             const CancelToken &cancel)
{
    const std::string status = text(groups, now);
    const std::string unchanging = withoutProbes(status);
    if (unchanging == m_written && now < m_writtenAt + longestSilence)
        return;
    KubeApplyOptions options;
    options.cancel = cancel;
    options.deadline = Deadline::after(std::chrono::seconds(10));
    options.fieldManager = "cluster-autoscaler";
    options.force = true;
    const Json object{{"apiVersion", "v1"},
                      {"kind", "ConfigMap"},
                      {"metadata",
                       {{"name", name},
                        {"namespace", space},
                        {"annotations", {{"cluster-autoscaler.kubernetes.io/last-updated", goTime(now)}}}}},
                      {"data", {{"status", status}}}};
    const Result<Json> written = client.apply(coreV1("configmaps", space, name), object, options);
    if (!written)
        return;
    m_uid = written->value("metadata", Json::object()).value("uid", std::string());
    m_written = unchanging;
    m_writtenAt = now;
}

} // namespace cluster::local
