#include "cluster/local/gcp/fault_service.h"

#include "cluster/local/gcp/wire_values.h"

namespace cluster::local {

using nlohmann::json;

ServerResponse FaultService::add(const ServerRequest &request)
{
    const json body = bodyOf(request);
    const bool isList = body.is_object() && body.contains("faults");
    const json wanted = isList ? body["faults"] : json::array({body});
    std::vector<Fault> faults;
    for (const json &one : wanted) {
        auto fault = Fault::fromJson(one);
        if (!fault)
            return errorResponse(toGoogleError(fault.error()));
        faults.push_back(std::move(*fault));
    }
    json added = json::array();
    for (Fault &fault : faults) {
        const auto stored = m_context.faults.add(std::move(fault));
        if (!stored)
            return errorResponse(toGoogleError(stored.error()));
        added.push_back(stored->toJson());
    }
    return jsonResponse(isList ? json{{"faults", std::move(added)}} : added.front());
}

ServerResponse FaultService::handle(const ServerRequest &request, std::span<const std::string> path)
{
    const bool isOne = path.size() == 3 && !path[2].empty();
    if (path.size() < 2 || path.size() > 3 || path[0] != "v1" || path[1] != "faults")
        return unknownMethodResponse(request);
    if (request.method == "GET" && !isOne) {
        const auto faults = m_context.faults.list();
        if (!faults)
            return errorResponse(toGoogleError(faults.error()));
        json list = json::array();
        for (const Fault &fault : *faults)
            list.push_back(fault.toJson());
        return jsonResponse({{"faults", std::move(list)}});
    }
    if (request.method == "POST" && !isOne)
        return add(request);
    if (request.method == "DELETE") {
        const Status removed = isOne ? m_context.faults.remove(path[2]) : m_context.faults.clear();
        return removed ? jsonResponse(json::object()) : errorResponse(toGoogleError(removed.error()));
    }
    return unknownMethodResponse(request);
}

} // namespace cluster::local
