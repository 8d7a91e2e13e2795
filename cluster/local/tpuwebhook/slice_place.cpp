#include "cluster/local/tpuwebhook/slice_place.h"

#include "cluster/local/nodes/json_access.h"
#include "cluster/local/tpuwebhook/tpu_demand.h"

#include <charconv>
#include <map>
#include <set>

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

std::optional<long> number(std::string_view digits)
{
    long value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 0)
        return std::nullopt;
    return value;
}

/// The value of TPU_WORKER_ID in a container, if it is a number.
std::optional<long> workerId(const Json &container)
{
    for (const Json &variable : at(container, "env")) {
        if (text(variable, "name") == "TPU_WORKER_ID")
            return number(text(variable, "value"));
    }
    return std::nullopt;
}

} // namespace

std::optional<SlicePlace> placeByLabels(const Json &pod)
{
    const Json &labels = at(at(pod, "metadata"), "labels");
    const auto replica = number(text(labels, "ray.io/worker-group-replica-index"));
    const auto host = number(text(labels, "ray.io/replica-host-index"));
    if (!replica || !host)
        return std::nullopt;
    return SlicePlace{*replica, *host};
}

Result<SlicePlace> placeAmong(const std::vector<SlicePlace> &places, long hostsPerSlice)
{
    std::map<long, std::set<long>> slices; // in the order of their numbers
    for (const SlicePlace &place : places) {
        if (!slices[place.replica].insert(place.host).second)
            return fail(ErrorCode::FailedPrecondition,
                        "Identical TPU_WORKER_ID assigned to multiple TPU workers in slice");
    }
    auto replica = static_cast<long>(slices.size());
    for (const auto &[number, hosts] : slices) {
        if (static_cast<long>(hosts.size()) < hostsPerSlice) {
            replica = number;
            break;
        }
    }
    const std::set<long> &taken = slices[replica]; // also of a full slice that happens to have this number
    long host = 0;
    while (taken.contains(host))
        ++host;
    return SlicePlace{replica, host};
}

Result<std::vector<SlicePlace>> placesOfAdmitted(const std::vector<Json> &pods)
{
    std::vector<SlicePlace> places;
    for (const Json &pod : pods) {
        const Json &metadata = at(pod, "metadata");
        const std::string index = text(at(metadata, "labels"), "replicaIndex");
        const auto replica = number(std::string_view(index).substr(index.rfind('-') + 1));
        const TpuDemand demand = tpuDemand(at(pod, "spec"));
        if (!replica || demand.isEmpty() || metadata.contains("deletionTimestamp"))
            continue;
        const auto id = workerId(at(at(pod, "spec"), "containers").at(demand.containers.front()));
        if (!id)
            return fail(ErrorCode::FailedPrecondition, "existing TPU worker missing TPU_WORKER_ID");
        places.push_back({*replica, *id / static_cast<long>(demand.containers.size())});
    }
    return places;
}

} // namespace cluster::local
