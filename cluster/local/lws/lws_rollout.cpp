#include "cluster/local/lws/lws_rollout.h"

#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/nodes/json_access.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;

namespace {

std::int64_t countedUnready(const std::vector<GroupState> &states, std::int64_t wanted)
{
    const auto known = std::min(wanted, static_cast<std::int64_t>(states.size()));
    std::int64_t count = wanted - known;
    for (std::int64_t group = 0; group < known; ++group) {
        const GroupState &state = states[static_cast<std::size_t>(group)];
        count += state.isReady && state.isUpdated ? 0 : 1;
    }
    return count;
}

/// The surge is given back as soon as what is not ready fits into what may be unavailable.
std::int64_t withSurge(const LwsSpec &spec, std::int64_t unready)
{
    if (unready > spec.maxSurge)
        return spec.replicas + spec.maxSurge;
    return spec.replicas + std::max<std::int64_t>(0, unready - spec.maxUnavailable);
}

std::int64_t nextPartition(const std::vector<GroupState> &states, std::int64_t step, std::int64_t partition)
{
    const auto count = static_cast<std::int64_t>(states.size());
    const auto state = [&](std::int64_t group) { return states[static_cast<std::size_t>(group)]; };
    std::int64_t done = 0; // ready and updated, counted from the last
    while (done < count && state(count - 1 - done).isReady && state(count - 1 - done).isUpdated)
        ++done;
    const std::int64_t lowest = std::max<std::int64_t>(0, count - done - step);
    // Those below that are not ready are unavailable as well.
    std::int64_t next = lowest;
    for (std::int64_t group = 0; group < lowest; ++group)
        next += state(group).isReady ? 0 : 1;
    // To update what is not ready costs nothing, and gets an update going that began with nothing ready.
    for (std::int64_t group = std::min(next, count - 1); group >= lowest; --group) {
        if (state(group).isReady && !state(group).isUpdated)
            break;
        next = group;
    }
    return std::min(next, partition);
}

/// Without the partition that the user set.
RolloutStep freeStep(const LwsSpec &spec, const std::optional<LeaderSet> &current, bool isNewRevision,
                     const std::vector<GroupState> &states)
{
    if (!current)
        return {0, spec.replicas};
    const RolloutStep &now = current->step;
    if (isNewRevision) {
        const std::int64_t partition = std::min(spec.replicas, now.replicas);
        return {partition, now.replicas < spec.replicas ? spec.replicas : withSurge(spec, spec.replicas)};
    }
    if (now.partition == 0 && now.replicas == spec.replicas)
        return {0, spec.replicas};
    if (now.replicas < spec.replicas)
        return {now.partition, spec.replicas}; // the update waits until all are there
    const std::int64_t wanted = withSurge(spec, countedUnready(states, spec.replicas));
    const std::int64_t most = spec.replicas + spec.maxSurge;
    if (current->wantedBefore != spec.replicas)
        return {std::min(now.partition, most), wanted};
    const std::int64_t step = spec.maxUnavailable + spec.maxSurge - (most - now.replicas);
    return {nextPartition(states, step, now.partition), wanted};
}

} // namespace

std::optional<LeaderSet> leaderSet(const Json &statefulSet)
{
    const Json &spec = at(statefulSet, "spec");
    if (!spec.is_object())
        return std::nullopt;
    LeaderSet set;
    set.step.partition = integerOf(at(at(spec, "updateStrategy"), "rollingUpdate"), "partition");
    set.step.replicas = integerOf(spec, "replicas", 1);
    set.wantedBefore
        = integerOf(at(at(statefulSet, "metadata"), "annotations"), lws_keys::replicas, set.step.replicas);
    return set;
}

RolloutStep nextStep(const LwsSpec &spec, const std::optional<LeaderSet> &current, bool isNewRevision,
                     const std::vector<GroupState> &states)
{
    RolloutStep step = freeStep(spec, current, isNewRevision, states);
    step.partition = std::max(step.partition, spec.partition);
    return step;
}

std::string surgeWords(const LwsSpec &spec, const LeaderSet &current, const RolloutStep &next)
{
    const auto group = [&](std::int64_t number) { return spec.name + "-" + std::to_string(number); };
    if (next.replicas >= current.step.replicas)
        return {};
    if (next.replicas == current.step.replicas - 1)
        return "deleting surge replica " + group(next.replicas);
    return "deleting surge replicas from " + group(next.replicas) + " to " + group(current.step.replicas - 1);
}

std::string partitionWords(std::int64_t before, std::int64_t now)
{
    if (before - 1 == now)
        return "Updating replica " + std::to_string(now);
    return "Updating replicas " + std::to_string(now) + " to " + std::to_string(before - 1) + " (inclusive)";
}

} // namespace cluster::local
