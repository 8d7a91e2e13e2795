#include "cluster/local/gcp/compute_service.h"

#include "cluster/local/gcp/compute_resources.h"
#include "cluster/local/gcp/wire_values.h"

#include <regex>

// Resource policies of a region: workload policies, which multi-host TPU7x pools name, and placement
// policies.

namespace cluster::local {

using nlohmann::json;

namespace {

tl::unexpected<GoogleError> missingPolicy(const std::string &project, const std::string &region,
                                          const std::string &name)
{
    return googleFail(ErrorCode::NotFound,
                      "The resource 'projects/" + project + "/regions/" + region + "/resourcePolicies/" + name
                          + "' was not found");
}

} // namespace

GoogleResult<json> ComputeService::policies(const Call &call, const std::string &region, Path path)
{
    const std::string &project = call.project.id;
    if (path.empty() && call.request.method == "POST")
        return createPolicy(call, region);
    if (path.empty()) {
        const auto documents = m_context.documents.list(policyKey(project, region));
        if (!documents)
            return tl::unexpected(toGoogleError(documents.error()));
        json items = json::array();
        for (const Document &document : *documents)
            items.push_back(document.value);
        return json{{"kind", "compute#resourcePolicyList"}, {"items", std::move(items)}};
    }
    if (path.size() != 1)
        return json(json::value_t::discarded);
    if (call.request.method == "DELETE")
        return deletePolicy(call, region, path[0]);
    const auto document = m_context.documents.get(policyKey(project, region, path[0]));
    if (!document)
        return tl::unexpected(toGoogleError(document.error()));
    if (!*document)
        return missingPolicy(project, region, path[0]);
    return (*document)->value;
}

GoogleStatus ComputeService::checkResourceName(const std::string &name)
{
    static const std::regex form("[a-z]([-a-z0-9]{0,61}[a-z0-9])?");
    if (std::regex_match(name, form))
        return {};
    return googleFail(ErrorCode::InvalidArgument,
                      "Invalid value for field 'resource.name': '" + name
                          + "'. Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'");
}

GoogleResult<json> ComputeService::createPolicy(const Call &call, const std::string &region)
{
    json policy = bodyOf(call.request);
    const std::string name = policy.value("name", std::string());
    if (auto named = checkResourceName(name); !named)
        return tl::unexpected(named.error());
    if (auto whole = checkPolicyBody(policy); !whole)
        return tl::unexpected(whole.error());
    const std::string link = call.self + "/regions/" + region + "/resourcePolicies/" + name;
    policy["kind"] = "compute#resourcePolicy";
    policy["id"] = randomDigits(19);
    policy["selfLink"] = link;
    policy["region"] = call.self + "/regions/" + region;
    policy["status"] = "READY";
    policy["creationTimestamp"] = rfc3339(m_context.now(), 3);
    const auto written = m_context.documents.create(policyKey(call.project.id, region, name), policy);
    if (written)
        return operation(call, "region", region, "insert", link);
    if (written.error().code == ErrorCode::AlreadyExists)
        return googleFail(ErrorCode::AlreadyExists,
                          "The resource 'projects/" + call.project.id + "/regions/" + region
                              + "/resourcePolicies/" + name + "' already exists");
    return tl::unexpected(toGoogleError(written.error()));
}

GoogleResult<json> ComputeService::deletePolicy(const Call &call, const std::string &region,
                                                const std::string &name)
{
    const Status removed = m_context.documents.remove(policyKey(call.project.id, region, name));
    if (removed)
        return operation(call, "region", region, "delete",
                         call.self + "/regions/" + region + "/resourcePolicies/" + name);
    if (removed.error().code == ErrorCode::NotFound)
        return missingPolicy(call.project.id, region, name);
    return tl::unexpected(toGoogleError(removed.error()));
}

/// Done at once: policies and reservations are only records.
json ComputeService::operation(const Call &call, const std::string &scope, const std::string &place,
                               const std::string &type, const std::string &target)
{
    const std::string name = "operation-" + std::to_string(millisecondsOf(m_context.now())) + "-"
        + randomHex(13) + "-" + randomHex(8) + "-" + randomHex(8);
    const std::string now = rfc3339(m_context.now(), 3);
    const std::string link = call.self + "/" + scope + "s/" + place;
    json operation{{"kind", "compute#operation"},
                   {"id", randomDigits(19)},
                   {"name", name},
                   {"operationType", type},
                   {"status", "DONE"},
                   {"progress", 100},
                   {"targetLink", target},
                   {"targetId", randomDigits(19)},
                   {"insertTime", now},
                   {"startTime", now},
                   {"endTime", now},
                   {scope, link},
                   {"selfLink", link + "/operations/" + name}};
    // The policy is written already; without this record only a later look at the operation fails.
    static_cast<void>(m_context.documents.put("operations/compute/" + name, operation));
    return operation;
}

} // namespace cluster::local
