#include "cluster/local/lws/group_reconciler.h"

#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/lws/lws_revision.h"
#include "cluster/local/lws/restart_rules.h"
#include "cluster/local/nodes/json_access.h"

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::isGoing;
using json_access::text;

namespace {

constexpr std::chrono::seconds untilRevision{1};

std::string nameOf(const Json &object)
{
    return text(at(object, "metadata"), "name");
}

std::string spaceOf(const Json &object)
{
    return text(at(object, "metadata"), "namespace");
}

} // namespace

Result<LookAgain> GroupReconciler::reconcile(const KeyQueue::Key &key)
{
    const auto pod = m_access.find(coreV1("pods", key.first, key.second));
    if (!pod)
        return tl::unexpected(pod.error());
    const Json lost = takeLost(key);
    if (lost.is_object() && text(at(lost, "metadata"), "uid") != text(at(*pod, "metadata"), "uid")) {
        if (const Status restarted = restartGroupOf(lost); !restarted) {
            remember(lost);
            return tl::unexpected(restarted.error());
        }
    }
    const std::string setName = labelOf(*pod, lws_keys::name);
    if (pod->is_null() || setName.empty())
        return LookAgain();
    const auto lws = m_access.find(lwsPath(key.first, setName));
    if (!lws)
        return tl::unexpected(lws.error());
    if (lws->is_null()) // deleted: garbage collection sees to the pods
        return LookAgain();
    const auto isGone = restartGroup(*lws, *pod);
    if (!isGone)
        return tl::unexpected(isGone.error());
    if (*isGone || labelOf(*pod, lws_keys::workerIndex) != "0")
        return LookAgain();
    return makeWorkers(*lws, *pod);
}

void GroupReconciler::remember(const Json &lostPod)
{
    const std::lock_guard lock(m_mutex);
    m_lost[{spaceOf(lostPod), nameOf(lostPod)}] = lostPod;
}

Json GroupReconciler::takeLost(const KeyQueue::Key &key)
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_lost.extract(key);
    return found.empty() ? Json() : found.mapped();
}

Status GroupReconciler::restartGroupOf(const Json &lostPod)
{
    const auto lws = m_access.find(lwsPath(spaceOf(lostPod), labelOf(lostPod, lws_keys::name)));
    if (!lws)
        return tl::unexpected(lws.error());
    const auto restarted = lws->is_null() ? Result<bool>(false) : restartGroup(*lws, lostPod);
    return restarted ? Status() : tl::unexpected(restarted.error());
}

Result<bool> GroupReconciler::restartGroup(const Json &lws, const Json &pod)
{
    const LwsSpec spec = lwsSpec(lws);
    if (!endsItsGroup(pod, spec))
        return false;
    const std::string nameSpace = spaceOf(pod);
    RestartGroup group;
    auto pods = m_access.list(coreV1("pods", nameSpace),
                              std::string(lws_keys::name) + "=" + spec.name + "," + lws_keys::groupIndex + "="
                                  + labelOf(pod, lws_keys::groupIndex));
    if (!pods)
        return tl::unexpected(pods.error());
    group.pods = std::move(*pods);
    const bool isLeader = labelOf(pod, lws_keys::workerIndex) == "0";
    const std::string leaderName = isLeader ? nameOf(pod) : podOrdinal(nameOf(pod)).parent;
    group.leader = namedObject(group.pods, leaderName);
    if (const Json &owner = controllerOf(pod); !isLeader && text(owner, "kind") == "StatefulSet") {
        auto workers = m_access.find(statefulSetPath(nameSpace, text(owner, "name")));
        if (!workers)
            return tl::unexpected(workers.error());
        group.workers = std::move(*workers);
    }
    const RestartVerdict verdict = restartVerdict(lws, pod, group);
    if (verdict != RestartVerdict::DeleteLeader)
        return verdict == RestartVerdict::LeaderIsGoing;
    const Json &leader = isLeader ? pod : group.leader;
    if (const Status removed = m_access.remove(coreV1("pods", nameSpace, leaderName), leader, true); !removed)
        return tl::unexpected(removed.error());
    m_events.record({lws, leader, "RecreateGroup", "Delete",
                     "Worker pod " + nameOf(pod) + " failed, deleted leader pod " + leaderName
                         + " to recreate group " + labelOf(leader, lws_keys::groupIndex),
                     false});
    return true;
}

Result<LookAgain> GroupReconciler::makeWorkers(const Json &lws, const Json &leader)
{
    const LwsSpec spec = lwsSpec(lws);
    if (!annotationOf(leader, lws_keys::leaderName).empty()) {
        // The pod of a StatefulSet of workers that counts from 0: each would get workers of its own.
        m_events.record({lws, leader, "FailedCreate", "Create",
                         "leader pod " + spaceOf(leader) + "/" + nameOf(leader)
                             + " contains mistake annotation '" + lws_keys::leaderName
                             + "': requires Kubernetes ≥v1.27 or v1.26 with StatefulSetStartOrdinal feature",
                         true});
        return LookAgain();
    }
    if (spec.hasOwnSubdomains) {
        if (const Status made = m_access.makeService(groupService(lws, leader)); !made)
            return tl::unexpected(made.error());
    }
    const bool isEarly = spec.startupPolicy == "LeaderReady" && !isReadyPod(leader);
    if (isGoing(leader) || !spec.hasWorkers() || isEarly)
        return LookAgain();
    const auto revisions = m_access.revisionsOf(lws);
    if (!revisions)
        return tl::unexpected(revisions.error());
    const Json revision = revisionWith(*revisions, labelOf(leader, lws_keys::revision));
    if (revision.is_null())
        return LookAgain(untilRevision);
    const bool isExclusive
        = at(at(at(lws, "metadata"), "annotations"), lws_keys::exclusiveTopology).is_string();
    if (isExclusive && text(at(leader, "spec"), "nodeName").empty())
        return LookAgain(); // its place is not known yet
    const auto topology = isExclusive ? topologyOf(lws, leader) : Result<std::string>();
    if (!topology)
        return tl::unexpected(topology.error());
    const auto known = m_access.find(statefulSetPath(spaceOf(leader), nameOf(leader)));
    if (!known)
        return tl::unexpected(known.error());
    if (!known->is_null())
        return LookAgain();
    const Status created = createWorkers(lws, leader, workerStatefulSet(lws, leader, revision, *topology));
    return created ? Result<LookAgain>() : tl::unexpected(created.error());
}

Result<std::string> GroupReconciler::topologyOf(const Json &lws, const Json &leader)
{
    const std::string key = annotationOf(lws, lws_keys::exclusiveTopology);
    const std::string nodeName = text(at(leader, "spec"), "nodeName");
    const auto node = m_access.find(coreV1("nodes", {}, nodeName));
    if (!node)
        return tl::unexpected(node.error());
    const Json &value = at(at(at(*node, "metadata"), "labels"), key.c_str());
    if (!node->is_null() && !value.is_string())
        return fail(ErrorCode::FailedPrecondition,
                    "node " + nodeName + " does not have topology label: " + key
                        + ", by which the workers of " + nameOf(leader) + " are to be placed");
    return value.is_string() ? value.get<std::string>() : std::string();
}

Status GroupReconciler::createWorkers(const Json &lws, const Json &leader, const Json &workers)
{
    const auto made = m_access.create(statefulSetPath(spaceOf(leader)), workers);
    if (made) {
        m_events.record({lws, leader, "GroupsProgressing", "Create",
                         "Created worker statefulset for leader pod " + nameOf(leader), false});
        return {};
    }
    if (made.error().code == ErrorCode::AlreadyExists)
        return {};
    m_events.record(
        {lws, leader, "FailedCreate", "Create",
         "Failed to create worker statefulset for leader pod " + nameOf(leader) + ": " + made.error().message,
         true});
    return tl::unexpected(made.error());
}

} // namespace cluster::local
