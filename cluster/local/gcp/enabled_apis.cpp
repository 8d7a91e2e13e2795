#include "cluster/local/gcp/enabled_apis.h"

#include "cluster/local/gcp/wire_values.h"

namespace cluster::local {

using nlohmann::json;

namespace {

std::string keyOf(const Project &project, const std::string &api)
{
    return "serviceusage/" + project.id + "/" + api;
}

} // namespace

GoogleResult<bool> EnabledApis::isEnabled(const Project &project, const std::string &api) const
{
    const auto document = m_context.documents.get(keyOf(project, api));
    if (!document)
        return tl::unexpected(toGoogleError(document.error()));
    if (!*document) {
        const KnownApi *known = findApi(api);
        return known && (known->isDefault || project.id == m_context.projectId);
    }
    const bool wanted = (*document)->value.value("enabled", false);
    const bool isThere
        = millisecondsOf(m_context.now()) >= (*document)->value.value("since", std::int64_t{0});
    return isThere ? wanted : !wanted;
}

GoogleStatus EnabledApis::set(const Project &project, const std::string &api, bool enabled,
                              std::int64_t since)
{
    const auto written
        = m_context.documents.put(keyOf(project, api), {{"enabled", enabled}, {"since", since}});
    return written ? GoogleStatus{} : tl::unexpected(toGoogleError(written.error()));
}

GoogleStatus EnabledApis::require(const Project &project, const std::string &api) const
{
    const auto enabled = isEnabled(project, api);
    if (!enabled)
        return tl::unexpected(enabled.error());
    if (*enabled)
        return {};
    const KnownApi *known = findApi(api);
    const std::string title = known ? std::string(known->title) : api;
    const std::string url
        = "https://console.developers.google.com/apis/api/" + api + "/overview?project=" + project.id;
    const std::string words = title + " has not been used in project " + project.id
        + " before or it is disabled. Enable it by visiting " + url
        + " then retry. If you enabled this API recently, wait a few minutes for the action to propagate to "
          "our "
          "systems and retry.";
    json info{{"@type", "type.googleapis.com/google.rpc.ErrorInfo"},
              {"reason", "SERVICE_DISABLED"},
              {"domain", "googleapis.com"},
              {"metadata",
               {{"service", api},
                {"consumer", "projects/" + project.id},
                {"containerInfo", project.id},
                {"serviceTitle", title},
                {"activationUrl", url}}}};
    json localized{{"@type", "type.googleapis.com/google.rpc.LocalizedMessage"},
                   {"locale", "en-US"},
                   {"message", words}};
    json help{{"@type", "type.googleapis.com/google.rpc.Help"},
              {"links",
               json::array({{{"description", "Google developers console API activation"}, {"url", url}}})}};
    return googleFail(ErrorCode::PermissionDenied, words,
                      json::array({std::move(info), std::move(localized), std::move(help)}));
}

} // namespace cluster::local
