#include "cluster/local/gcp/compute_service.h"

#include "cluster/local/gcp/compute_resources.h"
#include "cluster/local/gcp/wire_values.h"

#include <algorithm>
#include <cmath>
#include <regex>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr const char *kSelf = "https://www.googleapis.com/compute/v1/projects/";

/// The same number for the same name, as ids have it; made by FNV-1a.
std::string idOf(const std::string &name)
{
    std::uint64_t hash = 14695981039346656037U;
    for (const char c : name)
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return std::to_string(hash >> 1);
}

/// `name eq x`, `name=x`, `(name = "x")`: the rest is left to the client, which filters again.
bool matches(const json &item, const std::string &filter)
{
    static const std::regex form("\\(?\\s*(name|zone|region)\\s*(=|eq)\\s*\"?([a-z0-9.*-]+)\"?\\s*\\)?");
    std::smatch parts;
    if (filter.empty() || !std::regex_match(filter, parts, form))
        return true;
    const std::string value = item.value(parts[1].str(), std::string());
    const std::string last = value.substr(value.rfind('/') + 1);
    try {
        return std::regex_match(last, std::regex(parts[3].str()));
    } catch (const std::regex_error &) {
        return last == parts[3].str();
    }
}

/// A list of compute: filter, maxResults, pageToken.
GoogleResult<json> listOf(const ServerRequest &request, const std::string &kind, const std::string &id,
                          const json &all)
{
    const auto page = pageOf(request, "maxResults", 500, 500);
    if (!page)
        return googleFail(ErrorCode::InvalidArgument, "Invalid value for field 'pageToken'.");
    const std::string filter = request.queryValue("filter").value_or("");
    json answer{{"kind", kind}, {"id", id}};
    json items = json::array();
    for (const json &item : all) {
        const std::string name = item.value("name", std::string());
        if (name <= page->after || !matches(item, filter))
            continue;
        if (items.size() == page->size) {
            answer["nextPageToken"] = pageTokenAfter(items.back().value("name", std::string()));
            break;
        }
        items.push_back(item);
    }
    if (!items.empty())
        answer["items"] = std::move(items);
    return answer;
}

GoogleResult<json> namedOf(const json &all, const std::string &name, const std::string &resource)
{
    for (const json &item : all) {
        if (item.value("name", std::string()) == name)
            return item;
    }
    return missingResource(resource);
}

json quotaList(const std::vector<QuotaValue> &values)
{
    json quotas = json::array();
    for (const QuotaValue &value : values) {
        // As in the real answer: quotas with a family, and newer TPUs', are only in Cloud Quotas.
        const std::string &metric = value.key.name.metric;
        if (!value.key.name.family.empty() || !value.key.zone.empty()
            || metric.find("TPU_V6E") != std::string::npos || metric.find("TPU7X") != std::string::npos)
            continue;
        quotas.push_back({{"metric", metric},
                          {"limit", static_cast<double>(value.limit)},
                          {"usage", static_cast<double>(value.usage)}});
    }
    return quotas;
}

} // namespace

ComputeService::ComputeService(GcpContext &context, Quotas &quotas)
    : m_context(context), m_catalog(ComputeCatalog::builtIn()), m_quotas(quotas), m_projects(context),
      m_apis(context)
{
}

ServerResponse ComputeService::handle(const ServerRequest &request, Path path)
{
    const auto body = answer(request, path);
    if (body)
        return body->is_discarded() ? unknownMethodResponse(request) : jsonResponse(*body);
    return legacyErrorResponse(body.error());
}

GoogleResult<json> ComputeService::answer(const ServerRequest &request, Path path)
{
    if (!path.empty() && path[0] == "compute")
        path = path.subspan(1);
    if (path.size() < 3 || path[1] != "projects"
        || (path[0] != "v1" && path[0] != "beta" && path[0] != "alpha"))
        return json(json::value_t::discarded);
    auto project = m_projects.require(path[2]);
    if (!project)
        return missingResource("projects/" + path[2]);
    if (const auto enabled = m_apis.require(*project, "compute.googleapis.com"); !enabled)
        return tl::unexpected(enabled.error());
    const std::string self = kSelf + project->id;
    return ofProject({request, std::move(*project), self}, path.subspan(3));
}

GoogleResult<json> ComputeService::ofProject(const Call &call, Path path)
{
    const bool isGet = call.request.method == "GET";
    const std::string root = "projects/" + call.project.id;
    if (path.empty() && isGet) {
        return json{{"kind", "compute#project"},
                    {"id", idOf(call.project.id)},
                    {"name", call.project.id},
                    {"selfLink", call.self},
                    {"defaultServiceAccount", call.project.number + "-compute@developer.gserviceaccount.com"},
                    {"quotas", quotaList(m_quotas.ofProject(call.project.id))}};
    }
    if (path.empty())
        return json(json::value_t::discarded);
    if (path[0] == "aggregated" && path.size() == 2 && isGet)
        return aggregated(call, path[1]);
    const bool isRegions = path[0] == "regions";
    if (!isRegions && path[0] != "zones")
        return json(json::value_t::discarded);
    if (path.size() == 1) {
        json all = json::array();
        for (const auto &[region, zones] : m_catalog.regions()) {
            if (isRegions)
                all.push_back(this->region(call, region));
            else
                std::for_each(zones.begin(), zones.end(),
                              [&](const std::string &name) { all.push_back(zone(call, name)); });
        }
        return listOf(call.request, isRegions ? "compute#regionList" : "compute#zoneList",
                      root + "/" + path[0], all);
    }
    if (isRegions ? !m_catalog.hasRegion(path[1]) : !m_catalog.hasZone(path[1]))
        return missingResource(root + "/" + path[0] + "/" + path[1]);
    return isRegions ? ofRegion(call, path[1], path.subspan(2)) : ofZone(call, path[1], path.subspan(2));
}

GoogleResult<json> ComputeService::ofRegion(const Call &call, const std::string &region, Path path)
{
    if (path.empty() && call.request.method == "GET")
        return this->region(call, region);
    if (!path.empty() && path[0] == "resourcePolicies")
        return policies(call, region, path.subspan(1));
    return operationAt(call, "regions/" + region, path);
}

GoogleResult<json> ComputeService::operationAt(const Call &call, const std::string &place, Path path)
{
    const bool isOperation = path.size() == 2 || (path.size() == 3 && path[2] == "wait");
    if (!isOperation || path[0] != "operations")
        return json(json::value_t::discarded);
    const auto document = m_context.documents.get("operations/compute/" + path[1]);
    if (!document)
        return tl::unexpected(toGoogleError(document.error()));
    if (*document)
        return (*document)->value;
    return missingResource("projects/" + call.project.id + "/" + place + "/operations/" + path[1]);
}

GoogleResult<json> ComputeService::ofZone(const Call &call, const std::string &zone, Path path)
{
    if (!path.empty() && path[0] == "reservations")
        return reservations(call, zone, path.subspan(1));
    if (!path.empty() && path[0] == "operations")
        return operationAt(call, "zones/" + zone, path);
    if (call.request.method != "GET" || path.size() > 2)
        return json(json::value_t::discarded);
    if (path.empty())
        return this->zone(call, zone);
    const std::string id = "projects/" + call.project.id + "/zones/" + zone + "/" + path[0];
    if (path[0] == "acceleratorTypes") {
        const json all = acceleratorTypes(call, zone);
        return path.size() == 2 ? namedOf(all, path[1], id + "/" + path[1])
                                : listOf(call.request, "compute#acceleratorTypeList", id, all);
    }
    if (path[0] == "machineTypes") {
        const json all = machineTypes(call, zone);
        return path.size() == 2 ? namedOf(all, path[1], id + "/" + path[1])
                                : listOf(call.request, "compute#machineTypeList", id, all);
    }
    return json(json::value_t::discarded);
}

GoogleResult<json> ComputeService::aggregated(const Call &call, const std::string &what)
{
    const bool isMachines = what == "machineTypes";
    if (!isMachines && what != "acceleratorTypes")
        return json(json::value_t::discarded);
    const std::string filter = call.request.queryValue("filter").value_or("");
    json items = json::object();
    for (const auto &[region, zones] : m_catalog.regions()) {
        for (const std::string &name : zones) {
            json kept = json::array();
            for (json &item : isMachines ? machineTypes(call, name) : acceleratorTypes(call, name)) {
                if (matches(item, filter))
                    kept.push_back(std::move(item));
            }
            if (!kept.empty())
                items["zones/" + name] = {{what, std::move(kept)}};
        }
    }
    return json{
        {"kind", isMachines ? "compute#machineTypeAggregatedList" : "compute#acceleratorTypeAggregatedList"},
        {"id", "projects/" + call.project.id + "/aggregated/" + what},
        {"items", std::move(items)}};
}

json ComputeService::region(const Call &call, const std::string &name) const
{
    json zones = json::array();
    for (const std::string &zone : m_catalog.regions().at(name))
        zones.push_back(call.self + "/zones/" + zone);
    return {{"kind", "compute#region"},
            {"id", idOf(name)},
            {"name", name},
            {"description", name},
            {"status", "UP"},
            {"creationTimestamp", "1969-12-31T16:00:00.000-08:00"},
            {"selfLink", call.self + "/regions/" + name},
            {"zones", std::move(zones)},
            {"quotas", quotaList(m_quotas.ofRegion(call.project.id, name))},
            {"supportsPzs", false}};
}

json ComputeService::zone(const Call &call, const std::string &name) const
{
    return {{"kind", "compute#zone"},
            {"id", idOf(name)},
            {"name", name},
            {"description", name},
            {"status", "UP"},
            {"creationTimestamp", "1969-12-31T16:00:00.000-08:00"},
            {"region", call.self + "/regions/" + regionOfZone(name)},
            {"selfLink", call.self + "/zones/" + name},
            {"supportsPzs", false}};
}

json ComputeService::acceleratorTypes(const Call &call, const std::string &zone) const
{
    json list = json::array();
    for (const Accelerator &accelerator : m_catalog.accelerators()) {
        if (std::find(accelerator.zones.begin(), accelerator.zones.end(), zone) == accelerator.zones.end())
            continue;
        double most = 1;
        for (const MachineType &machine : accelerator.machines)
            most = std::max(most, machine.acceleratorCount);
        list.push_back(
            {{"kind", "compute#acceleratorType"},
             {"id", idOf(accelerator.name)},
             {"name", accelerator.name},
             // TPUs go by their family there.
             {"description", accelerator.isTpu ? accelerator.name : accelerator.title},
             {"maximumCardsPerInstance", static_cast<int>(most)},
             {"creationTimestamp", "1969-12-31T16:00:00.000-08:00"},
             {"zone", call.self + "/zones/" + zone},
             {"selfLink", call.self + "/zones/" + zone + "/acceleratorTypes/" + accelerator.name}});
    }
    std::sort(list.begin(), list.end(), [](const json &a, const json &b) { return a["name"] < b["name"]; });
    return list;
}

json ComputeService::machineTypes(const Call &call, const std::string &zone) const
{
    json list = json::array();
    for (const MachineType &machine : m_catalog.machinesOf(zone)) {
        json item{{"kind", "compute#machineType"},
                  {"id", idOf(machine.name)},
                  {"name", machine.name},
                  {"guestCpus", machine.vcpu},
                  {"memoryMb", static_cast<int>(std::lround(machine.memoryGb * 1024))},
                  {"isSharedCpu",
                   machine.name == "e2-micro" || machine.name == "e2-small" || machine.name == "e2-medium"},
                  {"maximumPersistentDisks", 128},
                  {"maximumPersistentDisksSizeGb", "263168"},
                  {"creationTimestamp", "1969-12-31T16:00:00.000-08:00"},
                  {"zone", zone},
                  {"selfLink", call.self + "/zones/" + zone + "/machineTypes/" + machine.name}};
        item["description"] = std::to_string(machine.vcpu) + " vCPUs, "
            + std::to_string(std::lround(machine.memoryGb)) + " GB RAM";
        if (!machine.accelerator.empty())
            item["accelerators"] = json::array(
                {{{"guestAcceleratorType", machine.accelerator},
                  {"guestAcceleratorCount", static_cast<int>(std::ceil(machine.acceleratorCount))}}});
        list.push_back(std::move(item));
    }
    return list;
}

} // namespace cluster::local
