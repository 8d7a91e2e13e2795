#pragma once

#include "cluster/kube/kube_client.h"
#include "cluster/local/lws/group_state.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cluster::local {

/// The API server as the reconcilers read it. Calls block; each ends soon after `cancel` was asked.
class LwsAccess
{
public:
    /// `client` must outlive it.
    LwsAccess(KubeClient &client, CancelToken cancel) : m_client(client), m_cancel(std::move(cancel)) {}

    /// Null: there is none of this name.
    [[nodiscard]] Result<nlohmann::json> find(const ResourcePath &path);
    [[nodiscard]] Result<std::vector<nlohmann::json>> list(const ResourcePath &collection,
                                                           const std::string &selector);
    [[nodiscard]] Result<nlohmann::json> create(const ResourcePath &path, const nlohmann::json &object);
    /// Server-side, as the manager "lws", which takes fields over from others.
    [[nodiscard]] Result<nlohmann::json> apply(const ResourcePath &path, const nlohmann::json &object);
    [[nodiscard]] Status update(const ResourcePath &path, const nlohmann::json &object);
    /// This very object; foreground: what it owns goes first. One that is gone is no error.
    [[nodiscard]] Status remove(const ResourcePath &path, const nlohmann::json &object, bool inForeground);

    /// ControllerRevisions of a LeaderWorkerSet that no other object controls.
    [[nodiscard]] Result<std::vector<nlohmann::json>> revisionsOf(const nlohmann::json &lws);
    /// Its leaders and all its StatefulSets.
    [[nodiscard]] Result<GroupObjects> groupsOf(const nlohmann::json &lws);
    /// Made where there is none; never changed.
    [[nodiscard]] Status makeService(const nlohmann::json &service);

private:
    [[nodiscard]] KubeCallOptions call() const;
    [[nodiscard]] KubeWriteOptions write() const;

    KubeClient &m_client;
    CancelToken m_cancel;
};

[[nodiscard]] ResourcePath lwsPath(const std::string &nameSpace = {}, const std::string &name = {});
[[nodiscard]] ResourcePath statefulSetPath(const std::string &nameSpace = {}, const std::string &name = {});
[[nodiscard]] ResourcePath revisionPath(const std::string &nameSpace = {}, const std::string &name = {});

} // namespace cluster::local
