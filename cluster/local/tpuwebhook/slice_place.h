#pragma once

#include "cluster/base/result.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// Where a worker pod of a Ray cluster belongs: which slice (replica of its group), which host of it.
struct SlicePlace
{
    long replica = 0;
    long host = 0;

    bool operator==(const SlicePlace &) const = default;
};

/// By the labels that KubeRay from 1.6 on gives the pods of multi-host groups; nothing if they are not both
/// there (or no numbers).
[[nodiscard]] std::optional<SlicePlace> placeByLabels(const nlohmann::json &pod);

/// For pods without those labels: the lowest slice that lacks a host, and its lowest free host. With all
/// slices full the number is the count of slices: holes are not filled, so that it can be one that is
/// taken (seen: of two single-host pods the first is deleted; its successor is host 1 of slice 1).
/// `places` are those of the group's pods that were admitted before and live.
/// FailedPrecondition: two of them have the same place.
[[nodiscard]] Result<SlicePlace> placeAmong(const std::vector<SlicePlace> &places, long hostsPerSlice);

/// The places of the pods that were admitted before, by their label replicaIndex ("GROUP-REPLICA") and the
/// TPU_WORKER_ID of their first TPU container. Terminating pods and those without the label don't count.
/// FailedPrecondition: one has no TPU_WORKER_ID.
[[nodiscard]] Result<std::vector<SlicePlace>> placesOfAdmitted(const std::vector<nlohmann::json> &pods);

} // namespace cluster::local
