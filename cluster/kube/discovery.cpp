#include "cluster/kube/discovery.h"

#include "cluster/kube/json_text.h"
#include "cluster/kube/kube_call.h"

namespace cluster {

namespace {

using Json = nlohmann::json;

const Json &arrayAt(const Json &object, const char *key)
{
    static const Json none = Json::array();
    const auto found = object.find(key);
    return found != object.end() && found->is_array() ? *found : none;
}

std::vector<std::string> strings(const Json &array)
{
    std::vector<std::string> strings;
    for (const Json &entry : array) {
        if (entry.is_string())
            strings.push_back(entry.get<std::string>());
    }
    return strings;
}

std::string keyOf(const std::string &apiVersion, const std::string &kind)
{
    return apiVersion + ' ' + kind;
}

ResourceInfo resourceInfo(const Json &resource, const std::string &group, const std::string &version)
{
    ResourceInfo info;
    info.group = group;
    info.version = version;
    info.plural = stringAt(resource, "resource");
    const auto kind = resource.find("responseKind");
    if (kind != resource.end() && kind->is_object())
        info.kind = stringAt(*kind, "kind");
    info.isNamespaced = stringAt(resource, "scope") == "Namespaced";
    info.verbs = strings(arrayAt(resource, "verbs"));
    for (const Json &subresource : arrayAt(resource, "subresources"))
        info.subresources.push_back(stringAt(subresource, "subresource"));
    return info;
}

/// Adds the resources of one answer (apidiscovery.k8s.io/v2 APIGroupDiscoveryList).
void takeGroups(const Json &list, std::map<std::string, ResourceInfo> &infos)
{
    for (const Json &groupItem : arrayAt(list, "items")) {
        const std::string group = stringAt(groupItem.value("metadata", Json::object()), "name");
        for (const Json &versionItem : arrayAt(groupItem, "versions")) {
            const std::string version = stringAt(versionItem, "version");
            for (const Json &resource : arrayAt(versionItem, "resources")) {
                ResourceInfo info = resourceInfo(resource, group, version);
                const std::string apiVersion = group.empty() ? version : group + '/' + version;
                if (!info.kind.empty() && !info.plural.empty())
                    infos.emplace(keyOf(apiVersion, info.kind), std::move(info));
            }
        }
    }
}

constexpr const char *discoveryAccept
    = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
      "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

} // namespace

Discovery::Discovery(KubeClient &client) : m_client(client) {}

Status Discovery::refresh()
{
    std::map<std::string, ResourceInfo> infos;
    for (const char *root : {"/api", "/apis"}) {
        const Result<HttpResponse> answer = m_client.raw("GET", root, {}, {}, {}, discoveryAccept);
        if (!answer)
            return tl::unexpected(answer.error());
        const Json list = Json::parse(answer->body, nullptr, false);
        if (!list.is_object() || stringAt(list, "kind") != "APIGroupDiscoveryList")
            return fail(ErrorCode::Unimplemented,
                        std::string("reading ") + root + " at " + hostOfUrl(m_client.endpoint().url)
                            + " failed: no aggregated discovery; Kubernetes 1.27 or newer is needed");
        takeGroups(list, infos);
    }
    const std::lock_guard lock(m_mutex);
    m_infos = std::move(infos);
    return {};
}

Result<ResourceInfo> Discovery::find(const std::string &apiVersion, const std::string &kind)
{
    const std::string key = keyOf(apiVersion, kind);
    for (const bool isSecondTry : {false, true}) {
        if (isSecondTry) {
            if (const Status refreshed = refresh(); !refreshed)
                return tl::unexpected(refreshed.error());
        }
        const std::lock_guard lock(m_mutex);
        if (const auto found = m_infos.find(key); found != m_infos.end())
            return found->second;
    }
    return fail(ErrorCode::NotFound,
                "the server has no kind \"" + kind + "\" in version \"" + apiVersion
                    + "\": install its CRD first, or check apiVersion and kind");
}

Result<ResourcePath> Discovery::pathOf(const Json &object, const std::string &defaultNamespace)
{
    if (!object.is_object())
        return fail(ErrorCode::InvalidArgument, "the manifest is no object");
    const Result<ResourceInfo> info = find(stringAt(object, "apiVersion"), stringAt(object, "kind"));
    if (!info)
        return tl::unexpected(info.error());
    const auto metadata = object.find("metadata");
    std::string nameSpace;
    std::string name;
    if (metadata != object.end() && metadata->is_object()) {
        nameSpace = stringAt(*metadata, "namespace");
        name = stringAt(*metadata, "name");
    }
    if (nameSpace.empty())
        nameSpace = defaultNamespace;
    return apiGroup(info->group, info->version, info->plural, info->isNamespaced ? nameSpace : std::string(),
                    name);
}

Result<Json> Discovery::apply(const Json &object, const KubeApplyOptions &options,
                              const std::string &defaultNamespace)
{
    const Result<ResourcePath> path = pathOf(object, defaultNamespace);
    if (!path)
        return tl::unexpected(path.error());
    if (path->name.empty())
        return fail(ErrorCode::InvalidArgument,
                    "applying " + path->display() + " failed: the manifest has no metadata.name");
    return m_client.apply(*path, object, options);
}

Result<std::vector<ResourceInfo>> Discovery::all()
{
    if (const Status refreshed = refresh(); !refreshed)
        return tl::unexpected(refreshed.error());
    const std::lock_guard lock(m_mutex);
    std::vector<ResourceInfo> infos;
    infos.reserve(m_infos.size());
    for (const auto &entry : m_infos)
        infos.push_back(entry.second);
    return infos;
}

} // namespace cluster
