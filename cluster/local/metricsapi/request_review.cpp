#include "cluster/local/metricsapi/request_review.h"

#include "cluster/kube/kube_client.h"

#include <algorithm>
#include <cctype>
#include <functional>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::chrono::seconds keptFor{10};
constexpr std::size_t mostKept = 1000;
constexpr std::string_view bearer = "Bearer ";

std::string lowered(std::string_view text)
{
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

Result<std::vector<std::string>> listIn(const json &data, const char *key)
{
    const json list = json::parse(data.value(key, std::string("[]")), nullptr, false);
    const bool isList = list.is_array()
        && std::all_of(list.begin(), list.end(), [](const json &one) { return one.is_string(); });
    if (!isList)
        return fail(ErrorCode::DataLoss,
                    std::string("configmap/extension-apiserver-authentication: ") + key
                        + " is no list of strings");
    return list.get<std::vector<std::string>>();
}

std::vector<std::string> valuesOf(const ServerRequest &request, const std::vector<std::string> &names)
{
    std::vector<std::string> values;
    for (const std::string &name : names) {
        for (const auto &[header, value] : request.headers) {
            if (lowered(header) == lowered(name))
                values.push_back(value);
        }
    }
    return values;
}

ApiFailure forbidden(const RequestUser &user, const ServerRequest &request, const MetricRoute *route)
{
    const std::string who = "User \"" + user.name + "\" cannot ";
    if (route == nullptr)
        return {403, "Forbidden", "forbidden: " + who + "get path \"" + request.path + "\""};
    const std::string below = route->subresource.empty() ? "" : "/" + route->subresource;
    std::string text = route->resource + "." + route->group
        + (route->name.empty() ? "" : " \"" + route->name + "\"") + " is forbidden: " + who + route->verb
        + " resource \"" + route->resource + below + "\" in API group \"" + route->group + "\"";
    text += route->nameSpace.empty() ? " at the cluster scope"
                                     : " in the namespace \"" + route->nameSpace + "\"";
    return {403, "Forbidden", std::move(text)};
}

json accessQuestion(const RequestUser &user, const ServerRequest &request, const MetricRoute *route)
{
    json spec{{"user", user.name}, {"groups", user.groups}};
    if (!user.extra.empty())
        spec["extra"] = user.extra;
    if (route == nullptr)
        spec["nonResourceAttributes"] = {{"path", request.path}, {"verb", "get"}};
    else
        spec["resourceAttributes"] = {{"namespace", route->nameSpace},
                                      {"verb", route->verb},
                                      {"group", route->group},
                                      {"version", route->version},
                                      {"resource", route->resource},
                                      {"subresource", route->subresource},
                                      {"name", route->name}};
    return spec;
}

} // namespace

Result<FrontProxy> frontProxyOf(const json &configMap)
{
    const json data = configMap.is_object() ? configMap.value("data", json()) : json();
    if (!data.is_object())
        return fail(ErrorCode::DataLoss, "configmap/extension-apiserver-authentication has no data");
    for (const auto &[key, value] : data.items()) {
        if (!value.is_string())
            return fail(ErrorCode::DataLoss,
                        "configmap/extension-apiserver-authentication: " + key + " is no text");
    }
    FrontProxy proxy;
    proxy.caPem = data.value("requestheader-client-ca-file", std::string());
    if (proxy.caPem.empty())
        return fail(ErrorCode::DataLoss,
                    "configmap/extension-apiserver-authentication lacks requestheader-client-ca-file: "
                    "the API server has no aggregation layer");
    const auto read = [&](const char *key, std::vector<std::string> &list) -> Status {
        auto values = listIn(data, key);
        if (!values)
            return tl::unexpected(values.error());
        list = std::move(*values);
        return {};
    };
    for (const auto &[key, list] : {std::pair("requestheader-allowed-names", &proxy.allowedNames),
                                    std::pair("requestheader-username-headers", &proxy.userHeaders),
                                    std::pair("requestheader-group-headers", &proxy.groupHeaders),
                                    std::pair("requestheader-extra-headers-prefix", &proxy.extraPrefixes)}) {
        if (const Status done = read(key, *list); !done)
            return tl::unexpected(done.error());
    }
    return proxy;
}

std::optional<RequestUser> proxiedUser(const ServerRequest &request, const FrontProxy &proxy)
{
    const std::string &name = request.peerCommonName;
    const bool isAllowed = proxy.allowedNames.empty()
        || std::find(proxy.allowedNames.begin(), proxy.allowedNames.end(), name) != proxy.allowedNames.end();
    if (name.empty() || !isAllowed)
        return std::nullopt;
    const auto users = valuesOf(request, proxy.userHeaders);
    if (users.empty() || users.front().empty())
        return std::nullopt;
    RequestUser user{users.front(), valuesOf(request, proxy.groupHeaders), {}};
    for (const auto &[header, value] : request.headers) {
        for (const std::string &prefix : proxy.extraPrefixes) {
            const std::string key = lowered(header);
            if (!key.starts_with(lowered(prefix)))
                continue;
            const std::string rest = key.substr(prefix.size());
            user.extra[percentDecoded(rest).value_or(rest)].push_back(value);
        }
    }
    return user;
}

ApiResult<json> RequestReview::review(const char *group, const char *plural, const json &spec)
{
    const std::string text = plural + spec.dump(-1, ' ', false, json::error_handler_t::replace);
    const auto now = std::chrono::steady_clock::now();
    {
        const std::scoped_lock lock(m_mutex);
        std::erase_if(m_known, [&](const auto &entry) { return entry.second.until <= now; });
        if (const auto found = m_known.find(text); found != m_known.end())
            return found->second.status;
    }
    KubeWriteOptions options;
    options.deadline = Deadline::after(std::chrono::seconds(10));
    const std::string kind = std::string(plural) == "tokenreviews" ? "TokenReview" : "SubjectAccessReview";
    const auto answer = m_client.create(
        apiGroup(group, "v1", plural),
        {{"apiVersion", std::string(group) + "/v1"}, {"kind", kind}, {"spec", spec}}, options);
    if (!answer)
        return apiFail(500, "InternalError", "Internal error occurred: " + answer.error().message);
    const json status = answer->value("status", json::object());
    const std::scoped_lock lock(m_mutex);
    if (m_known.size() < mostKept)
        m_known[text] = {status, now + keptFor};
    return status;
}

ApiResult<RequestUser> RequestReview::userOf(const ServerRequest &request)
{
    if (auto user = proxiedUser(request, m_proxy))
        return std::move(*user);
    const std::string_view given = request.header("authorization").value_or("");
    if (!given.starts_with(bearer))
        return RequestUser{"system:anonymous", {"system:unauthenticated"}, {}};
    const auto status = review("authentication.k8s.io", "tokenreviews",
                               {{"token", std::string(given.substr(bearer.size()))}});
    if (!status)
        return tl::unexpected(status.error());
    if (!status->value("authenticated", false))
        return apiFail(401, "Unauthorized", "Unauthorized");
    const json known = status->value("user", json::object());
    return RequestUser{known.value("username", std::string()),
                       known.value("groups", std::vector<std::string>()),
                       known.value("extra", std::map<std::string, std::vector<std::string>>())};
}

ApiResult<void> RequestReview::check(const ServerRequest &request, const MetricRoute *route)
{
    const auto user = userOf(request);
    if (!user)
        return tl::unexpected(user.error());
    const auto status
        = review("authorization.k8s.io", "subjectaccessreviews", accessQuestion(*user, request, route));
    if (!status)
        return tl::unexpected(status.error());
    if (!status->value("allowed", false))
        return tl::unexpected(forbidden(*user, request, route));
    return {};
}

} // namespace cluster::local
