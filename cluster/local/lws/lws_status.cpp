#include "cluster/local/lws/lws_status.h"

#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/nodes/json_access.h"

#include <vector>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

struct ConditionWords
{
    const char *type, *reason, *message;
};
constexpr ConditionWords available{"Available", "AllGroupsReady", "All replicas are ready"};
constexpr ConditionWords progressing{"Progressing", "GroupsProgressing", "Replicas are progressing"};
constexpr ConditionWords updating{"UpdateInProgress", "GroupsUpdating", "Rolling Upgrade is in progress"};

struct GroupCounts
{
    std::int64_t ready = 0, updated = 0;
    std::int64_t wantedReady = 0; ///< without those of a surge
    // Of the wanted ones at or above the partition:
    std::int64_t here = 0, hereUpdated = 0, hereDone = 0;
};

GroupCounts countGroups(const LwsSpec &spec, const GroupObjects &objects, const std::string &revisionKey)
{
    GroupCounts counts;
    for (const Json &leader : objects.leaders) {
        const std::int64_t index = integerOf(at(at(leader, "metadata"), "labels"), lws_keys::groupIndex, -1);
        const Json &workers = namedObject(objects.statefulSets, text(at(leader, "metadata"), "name"));
        if (index < 0 || (spec.hasWorkers() && workers.is_null()))
            continue;
        const bool isReady = isRunningAndReady(leader) && (!spec.hasWorkers() || isReadyStatefulSet(workers));
        const bool isUpdated = labelOf(leader, lws_keys::revision) == revisionKey
            && (!spec.hasWorkers() || labelOf(workers, lws_keys::revision) == revisionKey);
        const bool isWanted = index < spec.replicas;
        const bool isHere = isWanted && index >= spec.partition;
        counts.ready += isReady ? 1 : 0;
        counts.updated += isUpdated ? 1 : 0;
        counts.wantedReady += isWanted && isReady ? 1 : 0;
        counts.here += isHere ? 1 : 0;
        counts.hereUpdated += isHere && isUpdated ? 1 : 0;
        counts.hereDone += isHere && isReady && isUpdated ? 1 : 0;
    }
    return counts;
}

std::vector<ConditionWords> conditionsOf(const GroupCounts &counts, std::int64_t wanted)
{
    if (counts.hereUpdated < counts.here)
        return {updating, progressing};
    if (counts.wantedReady == wanted && counts.hereDone == counts.here)
        return {available};
    return {progressing};
}

bool excludeEachOther(const std::string &one, const std::string &other)
{
    return (one == "Available") != (other == "Available");
}

/// Makes one condition True and those that contradict it False. Of these only status, time and generation
/// change: the real controller leaves their old words, too. True: something changed.
bool setCondition(Json &conditions, const ConditionWords &words, std::int64_t generation,
                  const std::string &now)
{
    bool isKnown = false, isChanged = false;
    const Json wanted{{"type", words.type},        {"status", "True"},
                      {"reason", words.reason},    {"message", words.message},
                      {"lastTransitionTime", now}, {"observedGeneration", generation}};
    for (Json &condition : conditions) {
        const std::string type = text(condition, "type");
        const bool isTrue = text(condition, "status") == "True";
        if (type == words.type) {
            isKnown = true;
            if (!isTrue || integerOf(condition, "observedGeneration") != generation) {
                condition = wanted;
                isChanged = true;
            }
        } else if (isTrue && excludeEachOther(type, words.type)) {
            condition["status"] = "False";
            condition["lastTransitionTime"] = now;
            condition["observedGeneration"] = generation;
            isChanged = true;
        }
    }
    if (!isKnown)
        conditions.push_back(wanted);
    return isChanged || !isKnown;
}

bool setConditions(Json &conditions, const std::vector<ConditionWords> &wanted, std::int64_t generation,
                   const std::string &now)
{
    bool isChanged = false;
    // Nothing after the first change, as the real one does it: the next condition follows in the next pass.
    for (const ConditionWords &words : wanted)
        isChanged = isChanged || setCondition(conditions, words, generation, now);
    for (Json &condition : conditions) {
        if (!condition.is_object() || integerOf(condition, "observedGeneration") == generation)
            continue;
        condition["observedGeneration"] = generation;
        isChanged = true;
    }
    return isChanged;
}

/// Zeros are left out.
void setCount(Json &status, const char *key, std::int64_t count)
{
    if (count == 0)
        status.erase(key);
    else
        status[key] = count;
}

} // namespace

LwsStatus lwsStatus(const Json &lws, const GroupObjects &objects, std::int64_t leaderReplicas,
                    const std::string &revisionKey, const std::string &now)
{
    const LwsSpec spec = lwsSpec(lws);
    const Json &before = at(lws, "status");
    const GroupCounts counts = countGroups(spec, objects, revisionKey);
    LwsStatus result{before.is_object() ? before : Json::object(), false, false, {}, {}};
    Json &status = result.status;
    setCount(status, "replicas", leaderReplicas);
    setCount(status, "readyReplicas", counts.ready);
    setCount(status, "updatedReplicas", counts.updated);
    setCount(status, "observedGeneration", spec.generation);
    if (text(status, "hpaPodSelector").empty())
        status["hpaPodSelector"]
            = std::string(lws_keys::name) + "=" + spec.name + "," + lws_keys::workerIndex + "=0";
    const std::vector<ConditionWords> wanted = conditionsOf(counts, spec.replicas);
    Json conditions = at(status, "conditions").is_array() ? status["conditions"] : Json::array();
    if (setConditions(conditions, wanted, spec.generation, now)) {
        result.eventReason = wanted.front().reason;
        result.eventWords = std::string(wanted.front().message) + ", with " + std::to_string(counts.ready)
            + " groups ready of total " + std::to_string(spec.replicas) + " groups";
    }
    status["conditions"] = std::move(conditions);
    result.isChanged = status != before;
    result.isUpdateDone = spec.partition == 0 && counts.hereDone == spec.replicas;
    return result;
}

} // namespace cluster::local
