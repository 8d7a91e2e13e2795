#include "cluster/local/gcp/cloudquotas_service.h"

#include "cluster/local/gcp/wire_values.h"
#include <algorithm>
#include <charconv>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr const char *kService = "compute.googleapis.com";

/// The dimension in which a quota tells families apart, or nothing.
std::string familyDimension(const QuotaName &name)
{
    if (name.family.empty())
        return {};
    return name.metric.starts_with("TPU") ? "tpu_family" : "gpu_family";
}

json dimensionsOf(const QuotaKey &key)
{
    json dimensions = json::object();
    if (!key.region.empty())
        dimensions["region"] = key.region;
    if (!key.zone.empty())
        dimensions["zone"] = key.zone;
    if (!key.name.family.empty())
        dimensions[familyDimension(key.name)] = key.name.family;
    return dimensions;
}

std::string lowered(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return text;
}

std::string placeOf(const QuotaKey &key)
{
    if (!key.zone.empty())
        return key.zone;
    return key.region.empty() ? "global" : key.region;
}

void addTo(json &infos, const Project &project, const QuotaValue &value)
{
    const QuotaName &name = value.key.name;
    json &info = infos[name.id];
    if (info.is_null()) {
        json dimensions = json::array();
        if (!value.key.region.empty())
            dimensions.push_back("region");
        if (!value.key.zone.empty())
            dimensions.push_back("zone");
        if (!name.family.empty())
            dimensions.push_back(familyDimension(name));
        info = {{"name",
                 "projects/" + project.number + "/locations/global/services/" + kService + "/quotaInfos/"
                     + name.id},
                {"quotaId", name.id},
                {"metric", std::string(kService) + "/" + lowered(name.metric)},
                {"service", kService},
                {"isPrecise", true},
                {"containerType", "PROJECT"},
                {"dimensions", std::move(dimensions)},
                {"metricUnit", "1"},
                {"quotaDisplayName", name.metric},
                {"metricDisplayName", name.metric},
                {"quotaIncreaseEligibility", {{"isEligible", true}}},
                {"dimensionsInfos", json::array()}};
    }
    json one{{"details", {{"value", std::to_string(value.limit)}}},
             {"applicableLocations", json::array({placeOf(value.key)})}};
    if (json dimensions = dimensionsOf(value.key); !dimensions.empty())
        one["dimensions"] = std::move(dimensions);
    info["dimensionsInfos"].push_back(std::move(one));
}

std::string preferenceKey(const Project &project, const std::string &id)
{
    return "quota-preferences/" + project.id + "/" + id;
}

} // namespace

CloudQuotasService::CloudQuotasService(GcpContext &context, Quotas &quotas)
    : m_context(context), m_catalog(ComputeCatalog::builtIn()), m_quotas(quotas), m_projects(context),
      m_apis(context)
{
}

ServerResponse CloudQuotasService::handle(const ServerRequest &request, Path path)
{
    const auto body = answer(request, path);
    if (body)
        return body->is_discarded() ? unknownMethodResponse(request) : jsonResponse(*body);
    return errorResponse(body.error());
}

GoogleResult<json> CloudQuotasService::answer(const ServerRequest &request, Path path)
{
    const json unknown(json::value_t::discarded);
    if (path.size() < 6 || !path[0].starts_with("v1") || path[1] != "projects" || path[3] != "locations"
        || path[4] != "global")
        return unknown;
    const auto project = m_projects.require(path[2]);
    if (!project)
        return tl::unexpected(project.error());
    if (const auto enabled = m_apis.require(*project, "cloudquotas.googleapis.com"); !enabled)
        return tl::unexpected(enabled.error());
    if (path[5] == "quotaPreferences")
        return preferences(request, *project, path.subspan(6));
    if (path.size() < 8 || path[5] != "services" || path[7] != "quotaInfos" || request.method != "GET")
        return unknown;
    if (path[6] != kService)
        return googleFail(ErrorCode::NotFound,
                          "The service " + path[6] + " has no quotas here: the local target keeps those of "
                              + kService + ".");
    return infos(request, *project, path.subspan(8));
}

json CloudQuotasService::infosOf(const Project &project) const
{
    json infos = json::object();
    for (const QuotaValue &value : m_quotas.ofProject(project.id))
        addTo(infos, project, value);
    for (const auto &[region, zones] : m_catalog.regions()) {
        for (const QuotaValue &value : m_quotas.ofRegion(project.id, region))
            addTo(infos, project, value);
    }
    return infos;
}

GoogleResult<json> CloudQuotasService::infos(const ServerRequest &request, const Project &project, Path path)
{
    const json all = infosOf(project);
    if (path.size() == 1) {
        if (const auto found = all.find(path[0]); found != all.end())
            return *found;
        return googleFail(ErrorCode::NotFound, "The quota " + path[0] + " was not found.");
    }
    const auto page = pageOf(request, "pageSize", 500, 500);
    if (!page || !path.empty())
        return googleFail(ErrorCode::InvalidArgument, "Invalid page token.");
    json list = json::array();
    for (const auto &[id, info] : all.items()) {
        if (id <= page->after)
            continue;
        if (list.size() == page->size) {
            const std::string last = list.back().value("quotaId", std::string());
            return json{{"quotaInfos", std::move(list)}, {"nextPageToken", pageTokenAfter(last)}};
        }
        list.push_back(info);
    }
    return json{{"quotaInfos", std::move(list)}};
}

GoogleResult<json> CloudQuotasService::preferences(const ServerRequest &request, const Project &project,
                                                   Path path)
{
    if (path.empty() && request.method == "POST")
        return setPreference(request, project,
                             request.queryValue("quotaPreferenceId").value_or(randomUuid()));
    if (path.size() == 1 && request.method == "PATCH")
        return setPreference(request, project, path[0]);
    if (request.method != "GET" || path.size() > 1)
        return json(json::value_t::discarded);
    if (path.size() == 1) {
        const auto document = m_context.documents.get(preferenceKey(project, path[0]));
        if (!document)
            return tl::unexpected(toGoogleError(document.error()));
        if (!*document)
            return googleFail(ErrorCode::NotFound, "The quota preference " + path[0] + " was not found.");
        return (*document)->value;
    }
    const auto documents = m_context.documents.list(preferenceKey(project, {}));
    if (!documents)
        return tl::unexpected(toGoogleError(documents.error()));
    json list = json::array();
    for (const Document &document : *documents)
        list.push_back(document.value);
    return json{{"quotaPreferences", std::move(list)}};
}

GoogleResult<json> CloudQuotasService::setPreference(const ServerRequest &request, const Project &project,
                                                     const std::string &id)
{
    const auto old = m_context.documents.get(preferenceKey(project, id));
    if (!old)
        return tl::unexpected(toGoogleError(old.error()));
    json preference = *old ? (*old)->value : json::object();
    preference.update(bodyOf(request));
    const std::string quotaId = preference.value("quotaId", std::string());
    const json wanted = preference.value("dimensions", json::object());
    const std::string number = preference.value("quotaConfig", json::object()).value("preferredValue", "");
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (number.empty() || failure != std::errc{} || end != number.data() + number.size())
        return googleFail(ErrorCode::InvalidArgument,
                          "Invalid value at 'quota_preference.quota_config.preferred_value' (TYPE_INT64), \""
                              + number + "\"");
    if (value < 0)
        return googleFail(ErrorCode::InvalidArgument,
                          "quotaConfig.preferredValue " + number + " must be 0 or more.");
    std::vector<QuotaValue> candidates = m_quotas.ofProject(project.id);
    const std::string regionWanted
        = wanted.contains("zone") ? regionOfZone(wanted.value("zone", "")) : wanted.value("region", "");
    for (const QuotaValue &value : m_quotas.ofRegion(project.id, regionWanted))
        candidates.push_back(value);
    const auto match = std::find_if(candidates.begin(), candidates.end(), [&](const QuotaValue &value) {
        return value.key.name.id == quotaId && dimensionsOf(value.key) == wanted;
    });
    if (match == candidates.end())
        return googleFail(ErrorCode::InvalidArgument,
                          "The quota " + quotaId + " has no dimensions " + wanted.dump() + ".");
    if (value < match->limit && !request.queryValue("ignoreSafetyChecks"))
        return googleFail(ErrorCode::FailedPrecondition,
                          "The request decreases effective quota unsafely: from "
                              + std::to_string(match->limit) + " to " + number + " with "
                              + std::to_string(match->usage) + " in use"
                              + ". Set ignoreSafetyChecks to do it all the same.");
    if (const Status set = m_quotas.setLimit(project.id, match->key, value); !set)
        return tl::unexpected(toGoogleError(set.error()));
    preference["name"] = "projects/" + project.number + "/locations/global/quotaPreferences/" + id;
    preference["quotaConfig"]["grantedValue"] = number;
    preference["reconciling"] = false;
    preference["updateTime"] = rfc3339(m_context.now(), 6);
    if (!*old)
        preference["createTime"] = preference["updateTime"];
    const auto written = m_context.documents.put(preferenceKey(project, id), preference);
    if (!written)
        return tl::unexpected(toGoogleError(written.error()));
    return preference;
}

} // namespace cluster::local
