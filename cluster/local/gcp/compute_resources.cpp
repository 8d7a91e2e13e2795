#include "cluster/local/gcp/compute_resources.h"

#include "cluster/catalog/gke_catalog.h"
#include "cluster/local/gcp/json_members.h"
#include "cluster/local/gcp/pool_request.h"

namespace cluster::local {

using nlohmann::json;

namespace {

tl::unexpected<GoogleError> invalidField(const std::string &field, const std::string &value,
                                         const std::string &why)
{
    return googleFail(ErrorCode::InvalidArgument,
                      "Invalid value for field 'resource." + field + "': '" + value + "'. " + why);
}

} // namespace

tl::unexpected<GoogleError> missingResource(const std::string &path)
{
    return googleFail(ErrorCode::NotFound, "The resource '" + path + "' was not found");
}

std::string policyKey(const std::string &project, const std::string &region, const std::string &name)
{
    return "compute/resourcePolicies/" + project + "/" + region + "/" + name;
}

std::string reservationKey(const std::string &project, const std::string &zone, const std::string &name)
{
    return "compute/reservations/" + project + "/" + zone + "/" + name;
}

GoogleStatus checkPolicyBody(const json &body)
{
    int kinds = 0;
    for (const char *kind : {"workloadPolicy", "groupPlacementPolicy", "snapshotSchedulePolicy",
                             "instanceSchedulePolicy", "diskConsistencyGroupPolicy"})
        kinds += body.contains(kind) ? 1 : 0;
    if (kinds != 1)
        return googleFail(ErrorCode::InvalidArgument,
                          "Invalid value for field 'resource': ''. A resource policy has exactly one kind of "
                          "policy, such as workloadPolicy or groupPlacementPolicy.");
    const json &workload = member(body, "workloadPolicy");
    if (workload.is_null())
        return {};
    const std::string type = textMember(workload, "type");
    if (type != "HIGH_THROUGHPUT" && type != "HIGH_AVAILABILITY")
        return invalidField("workloadPolicy.type", type, "Must be HIGH_THROUGHPUT or HIGH_AVAILABILITY.");
    const std::string topology = textMember(workload, "acceleratorTopology");
    if (!topology.empty() && !chipsOfTopology(topology))
        return invalidField("workloadPolicy.acceleratorTopology", topology,
                            "Must be a topology such as 2x2x2.");
    return {};
}

GoogleStatus checkReservationBody(const json &body)
{
    const json &specific = member(body, "specificReservation");
    const json &count = member(specific, "count");
    if (textMember(member(specific, "instanceProperties"), "machineType").empty())
        return invalidField("specificReservation.instanceProperties.machineType", {},
                            "A reservation names its machine type.");
    if (count.is_null() || integerOf(count) < 1)
        return invalidField("specificReservation.count", count.is_null() ? std::string() : count.dump(),
                            "Must be at least 1.");
    return {};
}

GoogleResult<std::optional<ResourcePolicy>> resourcePolicy(const Documents &documents,
                                                           const std::string &project,
                                                           const std::string &region, const std::string &name)
{
    const auto document = documents.get(policyKey(project, region, name));
    if (!document)
        return tl::unexpected(toGoogleError(document.error()));
    if (!*document)
        return std::nullopt;
    const json &workload = member((*document)->value, "workloadPolicy");
    return ResourcePolicy{name, workload.is_object(), textMember(workload, "type"),
                          textMember(workload, "acceleratorTopology")};
}

GoogleResult<std::optional<Reservation>> reservation(const Documents &documents, const std::string &project,
                                                     const std::string &zone, const std::string &name)
{
    constexpr std::string_view projects = "projects/";
    constexpr std::string_view reservations = "/reservations/";
    std::string owner = project;
    std::string own = name;
    if (const auto behind = name.find(reservations);
        name.starts_with(projects) && behind != std::string::npos) {
        owner = name.substr(projects.size(), behind - projects.size());
        own = name.substr(behind + reservations.size());
    }
    own.resize(std::min(own.find('/'), own.size())); // without a block of it
    const auto document = documents.get(reservationKey(owner, zone, own));
    if (!document)
        return tl::unexpected(toGoogleError(document.error()));
    if (!*document)
        return std::nullopt;
    const json &specific = member((*document)->value, "specificReservation");
    const json &count = member(specific, "count");
    return Reservation{textMember(member(specific, "instanceProperties"), "machineType"),
                       count.is_null() ? 0 : static_cast<int>(integerOf(count))};
}

} // namespace cluster::local
