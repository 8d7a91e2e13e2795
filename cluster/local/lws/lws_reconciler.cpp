#include "cluster/local/lws/lws_reconciler.h"

#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/lws/lws_revision.h"
#include "cluster/local/lws/lws_rollout.h"
#include "cluster/local/lws/lws_status.h"
#include "cluster/local/lws/utc_text.h"
#include "cluster/local/nodes/json_access.h"

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::isGoing;
using json_access::text;

namespace {

constexpr std::chrono::seconds whileLeadersGo{5};
constexpr std::chrono::milliseconds afterConflict{1};

} // namespace

Result<LookAgain> LwsReconciler::reconcile(const KeyQueue::Key &key)
{
    const auto lws = m_access.find(lwsPath(key.first, key.second));
    if (!lws)
        return tl::unexpected(lws.error());
    if (lws->is_null() || isGoing(*lws))
        return LookAgain();
    const auto leaders = m_access.find(statefulSetPath(key.first, key.second));
    if (!leaders)
        return tl::unexpected(leaders.error());
    if (isGoing(*leaders))
        return LookAgain(whileLeadersGo);
    const auto revision = revisionFor(*lws, *leaders);
    if (!revision)
        return tl::unexpected(revision.error());
    const auto groups = m_access.groupsOf(*lws);
    if (!groups)
        return tl::unexpected(groups.error());
    const auto applied = applyLeaders(*lws, *leaders, *revision, *groups);
    if (!applied)
        return tl::unexpected(applied.error());
    if (const Status made = makeSharedService(*lws); !made)
        return tl::unexpected(made.error());
    return writeStatus(*lws, *applied, labelOf(revision->object, lws_keys::revision), *groups);
}

Result<LwsReconciler::Revision> LwsReconciler::revisionFor(const Json &lws, const Json &leaders)
{
    auto known = m_access.revisionsOf(lws);
    if (!known)
        return tl::unexpected(known.error());
    const std::string key = labelOf(leaders, lws_keys::revision);
    Json current = revisionWith(*known, key);
    if (current.is_null()) {
        const Json missing = newRevision(lws, *known, key);
        const std::string name = labelOf(missing, lws_keys::revision);
        const auto made = makeRevision(
            lws, missing,
            key.empty() ? "Creating revision with key " + name + " for a newly created LeaderWorkerSet"
                        : "Creating missing revision with key " + name + " for existing LeaderWorkerSet");
        if (!made)
            return tl::unexpected(made.error());
        current = *made;
        known->push_back(current);
    }
    if (leaders.is_null() || isRevisionOf(current, lws))
        return Revision{std::move(current), false};
    const Json wanted = newRevision(lws, *known);
    const auto made = makeRevision(lws, wanted,
                                   "Creating revision with key " + labelOf(wanted, lws_keys::revision)
                                       + " for updated LWS");
    if (!made)
        return tl::unexpected(made.error());
    return Revision{*made, true};
}

Result<Json> LwsReconciler::makeRevision(const Json &lws, const Json &revision, const std::string &words)
{
    auto made = m_access.create(revisionPath(text(at(lws, "metadata"), "namespace")), revision);
    if (made)
        m_events.record({lws, *made, "CreatingRevision", "Create", words, false});
    return made;
}

Result<Json> LwsReconciler::applyLeaders(const Json &lws, const Json &leaders, const Revision &revision,
                                         const GroupObjects &groups)
{
    const LwsSpec spec = lwsSpec(lws);
    const std::string key = labelOf(revision.object, lws_keys::revision);
    const auto current = leaderSet(leaders);
    const auto states = groupStates(spec, groups, current ? current->step.replicas : 0, key);
    const RolloutStep next = nextStep(spec, current, revision.isNew, states);
    if (current) {
        if (const std::string words = surgeWords(spec, *current, next); !words.empty())
            m_events.record({lws, nullptr, "GroupsProgressing", "Delete", words, false});
    }
    auto applied
        = m_access.apply(statefulSetPath(spec.nameSpace, spec.name), leaderStatefulSet(lws, next, key));
    if (!applied) {
        const std::string what = " leader statefulset " + spec.name + ": " + applied.error().message;
        if (current)
            m_events.record({lws, nullptr, "FailedUpdate", "Update", "Failed to update" + what, true});
        else
            m_events.record({lws, nullptr, "FailedCreate", "Create", "Failed to create" + what, true});
    } else if (!current) {
        m_events.record({lws, revision.object, "GroupsProgressing", "Create",
                         "Created leader statefulset " + spec.name, false});
    } else if (!revision.isNew && next.partition != current->step.partition) {
        m_events.record({lws, revision.object, "GroupsUpdating", "Update",
                         partitionWords(current->step.partition, next.partition), false});
    }
    return applied;
}

Status LwsReconciler::makeSharedService(const Json &lws)
{
    if (lwsSpec(lws).hasOwnSubdomains)
        return {};
    Status made = m_access.makeService(sharedService(lws));
    if (!made)
        m_events.record({lws, nullptr, "FailedCreate", "Create",
                         "Failed to create headless service for error: " + made.error().message, true});
    return made;
}

Result<LookAgain> LwsReconciler::writeStatus(const Json &lws, const Json &leaders,
                                             const std::string &revisionKey, const GroupObjects &groups)
{
    LwsStatus now = lwsStatus(lws, groups, integerOf(at(leaders, "status"), "replicas"), revisionKey,
                              utcSeconds(std::chrono::system_clock::now()));
    if (!now.eventReason.empty())
        m_events.record({lws, nullptr, now.eventReason, "Update", now.eventWords, false});
    if (now.isChanged) {
        Json written = lws;
        written["status"] = std::move(now.status);
        const auto [nameSpace, name]
            = KeyQueue::Key(text(at(lws, "metadata"), "namespace"), text(at(lws, "metadata"), "name"));
        const Status updated = m_access.update(lwsPath(nameSpace, name).sub("status"), written);
        if (!updated && updated.error().code == ErrorCode::Aborted)
            return LookAgain(afterConflict); // somebody else wrote meanwhile
        if (!updated)
            return tl::unexpected(updated.error());
    }
    if (now.isUpdateDone) {
        if (const Status dropped = dropOldRevisions(lws, revisionKey); !dropped)
            return tl::unexpected(dropped.error());
    }
    return LookAgain();
}

Status LwsReconciler::dropOldRevisions(const Json &lws, const std::string &revisionKey)
{
    const auto known = m_access.revisionsOf(lws);
    if (!known)
        return tl::unexpected(known.error());
    for (const Json &revision : *known) {
        const Json &metadata = at(revision, "metadata");
        if (labelOf(revision, lws_keys::revision) == revisionKey)
            continue;
        const ResourcePath path = revisionPath(text(metadata, "namespace"), text(metadata, "name"));
        if (Status removed = m_access.remove(path, revision, false); !removed)
            return removed;
    }
    return {};
}

} // namespace cluster::local
