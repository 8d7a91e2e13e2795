#include "cluster/local/gcp/serviceusage_service.h"

#include "cluster/local/gcp/wire_values.h"
#include <algorithm>
#include <set>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::size_t kMostAtOnce = 20; // of batchEnable
constexpr const char *kNoOperation = "operations/noop.DONE_OPERATION";
constexpr std::chrono::seconds kServiceTakes{6};

tl::unexpected<GoogleError> unknownService(const std::string &names)
{
    json info{{"@type", "type.googleapis.com/google.rpc.ErrorInfo"},
              {"reason", "SERVICE_CONFIG_NOT_FOUND_OR_PERMISSION_DENIED"},
              {"domain", "serviceusage.googleapis.com"},
              {"metadata", {{"services", names}}}};
    return googleFail(ErrorCode::PermissionDenied,
                      "Not found or permission denied for service(s): " + names + ".",
                      json::array({std::move(info)}));
}

GoogleStatus checkBilling(const Project &project, const std::vector<std::string> &names)
{
    const json labels = project.resource.value("labels", json::object());
    if (labels.value("slipway-billing", std::string()) != "disabled")
        return {};
    std::string list;
    for (const std::string &name : names)
        list += (list.empty() ? "" : ",") + name;
    json violation{{"type", "googleapis.com/billing-enabled"}, {"subject", project.number}};
    json detail{{"@type", "type.googleapis.com/google.rpc.PreconditionFailure"},
                {"violations", json::array({std::move(violation)})}};
    return googleFail(ErrorCode::FailedPrecondition,
                      "Billing account for project '" + project.number
                          + "' is not found. Billing must be enabled for activation of service(s) '" + list
                          + "' to proceed.",
                      json::array({std::move(detail)}));
}

GoogleStatus checkKnown(const std::vector<std::string> &names)
{
    std::string unknown;
    for (const std::string &name : names) {
        if (!findApi(name))
            unknown += (unknown.empty() ? "" : ",") + name;
    }
    return unknown.empty() ? GoogleStatus{} : unknownService(unknown);
}

} // namespace

ServiceUsageService::ServiceUsageService(GcpContext &context)
    : m_projects(context), m_apis(context), m_operations(context, "serviceusage")
{
}

ServerResponse ServiceUsageService::handle(const ServerRequest &request, std::span<const std::string> path)
{
    const auto body = answer(request, path);
    if (body)
        return body->is_discarded() ? unknownMethodResponse(request) : jsonResponse(*body);
    return errorResponse(body.error());
}

GoogleResult<json> ServiceUsageService::answer(const ServerRequest &request,
                                               std::span<const std::string> path)
{
    const bool isGet = request.method == "GET";
    const json unknown(json::value_t::discarded);
    if (path.size() < 3 || (path[0] != "v1" && path[0] != "v1beta1"))
        return unknown;
    if (path[1] == "operations" && isGet && path.size() == 3) {
        const std::string name = "operations/" + path[2];
        if (name == kNoOperation)
            return json{{"name", name}, {"done", true}, {"response", json::object()}};
        return m_operations.get(name);
    }
    if (path[1] != "projects" || path.size() < 4)
        return unknown;
    const auto project = m_projects.require(path[2]);
    if (!project)
        return tl::unexpected(project.error());
    if (path.size() == 4) {
        if (isGet && path[3] == "services")
            return list(*project, request);
        if (isGet && path[3] == "services:batchGet")
            return batchGet(*project, request);
        if (!isGet && path[3] == "services:batchEnable")
            return enable(*project, bodyOf(request).value("serviceIds", std::vector<std::string>()), true);
        return unknown;
    }
    if (path[3] != "services" || path.size() != 5)
        return unknown;
    if (isGet)
        return one(*project, path[4]);
    const auto colon = path[4].find(':');
    const std::string verb = colon == std::string::npos ? std::string() : path[4].substr(colon + 1);
    if (verb == "enable")
        return enable(*project, {path[4].substr(0, colon)}, false);
    if (verb == "disable")
        return disable(*project, path[4].substr(0, colon));
    return unknown;
}

json ServiceUsageService::wire(const Project &project, std::string_view name, bool enabled) const
{
    const KnownApi *api = findApi(name);
    json config{{"name", name}, {"title", api ? api->title : name}};
    return {{"name", "projects/" + project.number + "/services/" + std::string(name)},
            {"config", std::move(config)},
            {"state", enabled ? "ENABLED" : "DISABLED"},
            {"parent", "projects/" + project.number}};
}

GoogleResult<std::vector<std::string>>
ServiceUsageService::missing(const Project &project, const std::vector<std::string> &names) const
{
    std::set<std::string> wanted(names.begin(), names.end());
    for (const std::string &name : names) {
        for (const std::string_view needed : findApi(name)->needs)
            wanted.insert(std::string(needed));
    }
    std::vector<std::string> missing;
    for (const std::string &name : wanted) {
        const auto enabled = m_apis.isEnabled(project, name);
        if (!enabled)
            return tl::unexpected(enabled.error());
        if (!*enabled)
            missing.push_back(name);
    }
    return missing;
}

GoogleResult<json> ServiceUsageService::enable(const Project &project, const std::vector<std::string> &names,
                                               bool isBatch)
{
    if (names.empty() || names.size() > kMostAtOnce)
        return googleFail(ErrorCode::InvalidArgument,
                          "services:batchEnable takes 1 to 20 service ids, not "
                              + std::to_string(names.size()) + ".");
    if (const auto known = checkKnown(names); !known)
        return tl::unexpected(known.error());
    const auto absent = missing(project, names);
    if (!absent)
        return tl::unexpected(absent.error());
    json services = json::array();
    for (const std::string &name : names)
        services.push_back(wire(project, name, true));
    const std::string type = isBatch ? "BatchEnableServicesResponse" : "EnableServiceResponse";
    json response{{"@type", "type.googleapis.com/google.api.serviceusage.v1." + type}};
    response[isBatch ? "services" : "service"] = isBatch ? services : services[0];
    if (absent->empty())
        return json{{"name", kNoOperation}, {"done", true}, {"response", response}};
    if (const auto paid = checkBilling(project, names); !paid)
        return tl::unexpected(paid.error());

    const OperationPlan plan = m_operations.plan("ENABLE_SERVICE", {}, kServiceTakes);
    if (!plan.failure) {
        for (const std::string &name : *absent) {
            if (const auto set = m_apis.set(project, name, true, plan.endsAt); !set)
                return tl::unexpected(set.error());
        }
    }
    json resources = json::array();
    for (const json &service : services)
        resources.push_back(service["name"]);
    const json metadata{{"@type", "type.googleapis.com/google.api.serviceusage.v1.OperationMetadata"},
                        {"resourceNames", std::move(resources)}};
    return m_operations.start("operations/acat.p2-" + project.number + "-" + randomUuid(), plan, metadata,
                              response);
}

GoogleResult<json> ServiceUsageService::disable(const Project &project, const std::string &name)
{
    if (const auto known = checkKnown({name}); !known)
        return tl::unexpected(known.error());
    const OperationPlan plan = m_operations.plan("DISABLE_SERVICE", {}, kServiceTakes);
    if (!plan.failure) {
        if (const auto set = m_apis.set(project, name, false, plan.endsAt); !set)
            return tl::unexpected(set.error());
    }
    const json response{{"@type", "type.googleapis.com/google.api.serviceusage.v1.DisableServiceResponse"},
                        {"service", wire(project, name, false)}};
    return m_operations.start("operations/acat.p2-" + project.number + "-" + randomUuid(), plan, {},
                              response);
}

GoogleResult<json> ServiceUsageService::list(const Project &project, const ServerRequest &request)
{
    const auto page = pageOf(request, "pageSize", 50, 200);
    if (!page)
        return googleFail(ErrorCode::InvalidArgument, "Invalid page token.");
    const std::string filter = request.queryValue("filter").value_or("");
    if (!filter.empty() && filter != "state:ENABLED" && filter != "state:DISABLED")
        return googleFail(ErrorCode::InvalidArgument,
                          "The filter '" + filter + "' is none of state:ENABLED and state:DISABLED.");
    json services = json::array();
    std::string last;
    for (const KnownApi &api : knownApis()) {
        if (api.name <= page->after)
            continue;
        const auto enabled = m_apis.isEnabled(project, std::string(api.name));
        if (!enabled)
            return tl::unexpected(enabled.error());
        if (!filter.empty() && *enabled != (filter == "state:ENABLED"))
            continue;
        if (services.size() == page->size)
            return json{{"services", std::move(services)}, {"nextPageToken", pageTokenAfter(last)}};
        services.push_back(wire(project, api.name, *enabled));
        last = api.name;
    }
    return services.empty() ? json::object() : json{{"services", std::move(services)}};
}

GoogleResult<json> ServiceUsageService::batchGet(const Project &project, const ServerRequest &request)
{
    json services = json::array();
    for (const std::string &name : request.queryValues("names")) {
        auto service = one(project, name.substr(name.rfind('/') + 1));
        if (!service)
            return service;
        services.push_back(std::move(*service));
    }
    return json{{"services", std::move(services)}};
}

GoogleResult<json> ServiceUsageService::one(const Project &project, const std::string &name)
{
    if (const auto known = checkKnown({name}); !known)
        return tl::unexpected(known.error());
    const auto enabled = m_apis.isEnabled(project, name);
    if (!enabled)
        return tl::unexpected(enabled.error());
    return wire(project, name, *enabled);
}

} // namespace cluster::local
