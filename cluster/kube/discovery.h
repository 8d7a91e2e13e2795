#pragma once

#include "cluster/kube/kube_client.h"

#include <map>
#include <mutex>

namespace cluster {

/// What the server says of one kind.
struct ResourceInfo
{
    std::string group, version, kind, plural;
    bool isNamespaced = false;
    std::vector<std::string> verbs;
    std::vector<std::string> subresources;
};

/// Which kinds a server has, from its aggregated discovery (Kubernetes >= 1.27). Read when first asked, and
/// again for a kind that is unknown (a CRD may be new). Threads may share one.
class Discovery
{
public:
    explicit Discovery(KubeClient &client);

    /// `apiVersion` and `kind` as in an object. NotFound: the server has no such kind.
    Result<ResourceInfo> find(const std::string &apiVersion, const std::string &kind);
    /// Where `object` lives; `defaultNamespace` where it is namespaced and names none.
    Result<ResourcePath> pathOf(const nlohmann::json &object,
                                const std::string &defaultNamespace = "default");
    /// Server-side apply of any object.
    Result<nlohmann::json> apply(const nlohmann::json &object, const KubeApplyOptions &options,
                                 const std::string &defaultNamespace = "default");
    Result<std::vector<ResourceInfo>> all();

private:
    Status refresh();

    KubeClient &m_client;
    std::mutex m_mutex; ///< guards m_infos
    std::map<std::string, ResourceInfo> m_infos; ///< by "apiVersion kind"
};

/// The documents of a manifest (YAML or JSON, `---` between them; a List becomes its items) as JSON, by the
/// YAML 1.2 core rules kubectl uses. InvalidArgument with line and column.
Result<std::vector<nlohmann::json>> parseManifests(const std::string &text);

} // namespace cluster
