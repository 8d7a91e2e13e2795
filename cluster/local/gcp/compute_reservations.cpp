#include "cluster/local/gcp/compute_service.h"

#include "cluster/local/gcp/compute_resources.h"
#include "cluster/local/gcp/wire_values.h"

// Reservations of a zone: machines that node pools can name. Here they hold a place in the rules only.

namespace cluster::local {

using nlohmann::json;

GoogleResult<json> ComputeService::reservations(const Call &call, const std::string &zone, Path path)
{
    const std::string &project = call.project.id;
    if (path.empty() && call.request.method == "POST")
        return createReservation(call, zone);
    if (path.empty()) {
        const auto documents = m_context.documents.list(reservationKey(project, zone));
        if (!documents)
            return tl::unexpected(toGoogleError(documents.error()));
        json items = json::array();
        for (const Document &document : *documents)
            items.push_back(document.value);
        return json{{"kind", "compute#reservationList"}, {"items", std::move(items)}};
    }
    if (path.size() != 1)
        return json(json::value_t::discarded);
    const std::string resource = "projects/" + project + "/zones/" + zone + "/reservations/" + path[0];
    const std::string key = reservationKey(project, zone, path[0]);
    if (call.request.method == "DELETE") {
        const Status removed = m_context.documents.remove(key);
        if (!removed && removed.error().code == ErrorCode::NotFound)
            return missingResource(resource);
        if (!removed)
            return tl::unexpected(toGoogleError(removed.error()));
        return operation(call, "zone", zone, "delete",
                         call.self + "/zones/" + zone + "/reservations/" + path[0]);
    }
    const auto document = m_context.documents.get(key);
    if (!document)
        return tl::unexpected(toGoogleError(document.error()));
    if (!*document)
        return missingResource(resource);
    return (*document)->value;
}

GoogleResult<json> ComputeService::createReservation(const Call &call, const std::string &zone)
{
    json body = bodyOf(call.request);
    const std::string name = body.value("name", std::string());
    if (auto named = checkResourceName(name); !named)
        return tl::unexpected(named.error());
    if (auto whole = checkReservationBody(body); !whole)
        return tl::unexpected(whole.error());
    const auto machine = body["specificReservation"]["instanceProperties"]["machineType"].get<std::string>();
    if (!m_catalog.machine(machine))
        return googleFail(ErrorCode::InvalidArgument,
                          "Invalid value for field 'resource.specificReservation.instanceProperties."
                          "machineType'. Machine type does not exist in zone '"
                              + zone + "'.");
    const std::string link = call.self + "/zones/" + zone + "/reservations/" + name;
    json &specific = body["specificReservation"];
    specific["inUseCount"] = "0";
    body["kind"] = "compute#reservation";
    body["id"] = randomDigits(19);
    body["selfLink"] = link;
    body["zone"] = call.self + "/zones/" + zone;
    body["status"] = "READY";
    body["creationTimestamp"] = rfc3339(m_context.now(), 3);
    const auto written = m_context.documents.create(reservationKey(call.project.id, zone, name), body);
    if (written)
        return operation(call, "zone", zone, "insert", link);
    if (written.error().code == ErrorCode::AlreadyExists)
        return googleFail(ErrorCode::AlreadyExists,
                          "The resource 'projects/" + call.project.id + "/zones/" + zone + "/reservations/"
                              + name + "' already exists");
    return tl::unexpected(toGoogleError(written.error()));
}

} // namespace cluster::local
