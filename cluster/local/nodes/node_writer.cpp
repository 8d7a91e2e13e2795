#include "cluster/local/nodes/node_writer.h"

#include "cluster/kube/kube_client.h"
#include "cluster/kube/pause.h"
#include "cluster/local/nodes/json_access.h"
#include "cluster/local/nodes/node_object.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

KubeWriteOptions writing(const CancelToken &cancel)
{
    KubeWriteOptions options;
    options.cancel = cancel;
    options.deadline = Deadline::after(std::chrono::seconds(30));
    return options;
}

ResourcePath nodePath(const std::string &node)
{
    return coreV1("nodes").named(node);
}

bool isOfDaemonSet(const Json &pod)
{
    const Json owners = pod.value("metadata", Json::object()).value("ownerReferences", Json::array());
    return std::any_of(owners.begin(), owners.end(),
                       [](const Json &owner) { return owner.value("kind", std::string()) == "DaemonSet"; });
}

bool hasEnded(const Json &pod)
{
    const std::string phase = json_access::text(pod, "status", "phase");
    return phase == "Succeeded" || phase == "Failed";
}

bool isSame(const Json &taint, const NodeTaint &other)
{
    return taint.value("key", std::string()) == other.key
        && taint.value("effect", std::string()) == other.effect;
}

Status onlyStatus(const Result<Json> &result)
{
    if (!result)
        return tl::unexpected(result.error());
    return {};
}

} // namespace

Result<std::string> NodeWriter::create(const Json &node, const CancelToken &cancel)
{
    const KubeWriteOptions options = writing(cancel);
    Result<Json> created = m_client.create(coreV1("nodes"), node, options);
    if (!created && created.error().code == ErrorCode::AlreadyExists) {
        const std::string name = json_access::text(node, "metadata", "name");
        if (const Status removed = remove(name, cancel); !removed)
            return tl::unexpected(removed.error());
        created = m_client.create(coreV1("nodes"), node, options);
    }
    if (!created)
        return tl::unexpected(created.error());
    return json_access::text(*created, "metadata", "uid");
}

Status NodeWriter::remove(const std::string &node, const CancelToken &cancel)
{
    KubeDeleteOptions options;
    options.cancel = cancel;
    options.deadline = Deadline::after(std::chrono::seconds(30));
    const Status removed = onlyStatus(m_client.remove(nodePath(node), options));
    // Its lease goes with it by ownership, but only where a garbage collector runs.
    (void)m_client.remove(apiGroup("coordination.k8s.io", "v1", "leases", "kube-node-lease", node), options);
    if (!removed && removed.error().code != ErrorCode::NotFound)
        return removed;
    return {};
}

Status NodeWriter::setCondition(const std::string &node, const Json &condition, const CancelToken &cancel)
{
    const Json patch{{"status", {{"conditions", {condition}}}}};
    return onlyStatus(
        m_client.patch(nodePath(node).sub("status"), PatchType::Strategic, patch, writing(cancel)));
}

Status NodeWriter::setLabels(const std::string &node,
                             const std::map<std::string, std::optional<std::string>> &labels,
                             const CancelToken &cancel)
{
    if (labels.empty())
        return {};
    Json changes = Json::object();
    for (const auto &[key, value] : labels)
        changes[key] = value ? Json(*value) : Json(nullptr);
    const Json patch{{"metadata", {{"labels", std::move(changes)}}}};
    return onlyStatus(m_client.patch(nodePath(node), PatchType::Merge, patch, writing(cancel)));
}

Status NodeWriter::changeTaints(const std::string &node, const std::vector<NodeTaint> &added,
                                const std::vector<NodeTaint> &removed, const CancelToken &cancel)
{
    const auto change = [&](Json &object) {
        const Json before = object["spec"].value("taints", Json::array());
        Json taints = Json::array();
        for (const Json &taint : before) {
            const auto isThis = [&](const NodeTaint &other) { return isSame(taint, other); };
            if (std::none_of(added.begin(), added.end(), isThis)
                && std::none_of(removed.begin(), removed.end(), isThis))
                taints.push_back(taint);
        }
        for (const NodeTaint &taint : added)
            taints.push_back({{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
        object["spec"]["taints"] = taints;
        return taints != before;
    };
    return onlyStatus(m_client.modify(nodePath(node), change, writing(cancel)));
}

Status NodeWriter::cordon(const std::string &node, const CancelToken &cancel)
{
    const Json patch{{"spec", {{"unschedulable", true}}}};
    return onlyStatus(m_client.patch(nodePath(node), PatchType::Merge, patch, writing(cancel)));
}

Result<std::string> NodeWriter::readiness(const std::string &node, const CancelToken &cancel)
{
    const Result<Json> object = m_client.get(nodePath(node), writing(cancel));
    if (!object && object.error().code == ErrorCode::NotFound)
        return std::string();
    if (!object)
        return tl::unexpected(object.error());
    for (const Json &condition : object->value("status", Json::object()).value("conditions", Json::array())) {
        if (condition.value("type", std::string()) == "Ready")
            return condition.value("status", std::string("Unknown"));
    }
    return std::string("Unknown");
}

bool NodeWriter::awaitSchedulable(const std::string &node, Deadline deadline, const CancelToken &cancel)
{
    while (!cancel.stop_requested()) {
        const Result<Json> object = m_client.get(nodePath(node), writing(cancel));
        if (object) {
            const Json taints = object->value("spec", Json::object()).value("taints", Json::array());
            const bool isSeen = std::none_of(taints.begin(), taints.end(), [](const Json &taint) {
                return taint.value("key", std::string()) == "node.kubernetes.io/not-ready";
            });
            if (isSeen)
                return true;
        }
        if (deadline.hasPassed())
            return false;
        pauseFor(milliseconds(200), cancel, deadline);
    }
    return false;
}

Result<std::vector<Json>> NodeWriter::podsOf(const std::string &node, const CancelToken &cancel)
{
    KubeListOptions list;
    list.fieldSelector = "spec.nodeName=" + node;
    Result<KubeList> pods = m_client.list(coreV1("pods"), list, writing(cancel));
    if (!pods)
        return tl::unexpected(pods.error());
    return std::move(pods->items);
}

Result<bool> NodeWriter::isEmpty(const std::string &node, const CancelToken &cancel)
{
    const Result<std::vector<Json>> pods = podsOf(node, cancel);
    if (!pods)
        return tl::unexpected(pods.error());
    return std::all_of(pods->begin(), pods->end(),
                       [](const Json &pod) { return isOfDaemonSet(pod) || hasEnded(pod); });
}

bool NodeWriter::hasTaint(const std::string &node, const std::string &key, const CancelToken &cancel)
{
    const Result<Json> object = m_client.get(nodePath(node), writing(cancel));
    if (!object)
        return false;
    const Json taints = object->value("spec", Json::object()).value("taints", Json::array());
    return std::any_of(taints.begin(), taints.end(),
                       [&](const Json &taint) { return taint.value("key", std::string()) == key; });
}

std::string NodeWriter::labelOf(const std::string &node, const std::string &key, const CancelToken &cancel)
{
    const Result<Json> object = m_client.get(nodePath(node), writing(cancel));
    if (!object)
        return {};
    const Json labels = object->value("metadata", Json::object()).value("labels", Json::object());
    return labels.value(key, std::string());
}

Status NodeWriter::evict(const Json &pod, const CancelToken &cancel)
{
    const std::string name = json_access::text(pod, "metadata", "name");
    const std::string nameSpace = json_access::text(pod, "metadata", "namespace");
    KubeWriteOptions options = writing(cancel);
    options.retries = 0; // 429 is a disruption budget's no: for the caller to ask again
    const Json eviction{{"apiVersion", "policy/v1"},
                        {"kind", "Eviction"},
                        {"metadata", {{"name", name}, {"namespace", nameSpace}}}};
    return onlyStatus(m_client.create(coreV1("pods", nameSpace, name).sub("eviction"), eviction, options));
}

void NodeWriter::drain(const std::string &node, Deadline deadline, const CancelToken &cancel)
{
    while (!deadline.hasPassed() && !cancel.stop_requested()) {
        const Result<std::vector<Json>> pods = podsOf(node, cancel);
        bool isDone = pods.has_value();
        if (pods) {
            for (const Json &pod : *pods) {
                if (isOfDaemonSet(pod) || hasEnded(pod))
                    continue;
                isDone = false;
                if (!pod.value("metadata", Json::object()).contains("deletionTimestamp"))
                    (void)evict(pod, cancel);
            }
        }
        if (isDone)
            return;
        pauseFor(milliseconds(500), cancel, deadline);
    }
}

void NodeWriter::dropPods(const std::string &node, const CancelToken &cancel)
{
    const Result<std::vector<Json>> pods = podsOf(node, cancel);
    if (!pods)
        return; // the garbage collector will
    for (const Json &pod : *pods) {
        const ResourcePath path = coreV1("pods", json_access::text(pod, "metadata", "namespace"),
                                         json_access::text(pod, "metadata", "name"));
        if (!hasEnded(pod)) {
            const Json status{{"phase", "Failed"},
                              {"conditions",
                               {{{"type", "DisruptionTarget"},
                                 {"status", "True"},
                                 {"reason", "DeletionByPodGC"},
                                 {"message", "PodGC: node no longer exists"},
                                 {"lastTransitionTime", timestamp(unixTimeNow())}}}}};
            (void)m_client.patch(path.sub("status"), PatchType::Strategic, Json{{"status", status}},
                                 writing(cancel));
        }
        KubeDeleteOptions options;
        options.cancel = cancel;
        options.deadline = Deadline::after(std::chrono::seconds(30));
        options.gracePeriodSeconds = 0;
        options.uid = json_access::text(pod, "metadata", "uid");
        (void)m_client.remove(path, options);
    }
}

} // namespace cluster::local
