#include "cluster/local/lws/lws_access.h"

#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/nodes/json_access.h"

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

constexpr std::chrono::seconds callTime{30};

std::string equals(const char *key, const std::string &value)
{
    return std::string(key) + "=" + value;
}

} // namespace

ResourcePath lwsPath(const std::string &nameSpace, const std::string &name)
{
    return apiGroup("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", nameSpace, name);
}

ResourcePath statefulSetPath(const std::string &nameSpace, const std::string &name)
{
    return apiGroup("apps", "v1", "statefulsets", nameSpace, name);
}

ResourcePath revisionPath(const std::string &nameSpace, const std::string &name)
{
    return apiGroup("apps", "v1", "controllerrevisions", nameSpace, name);
}

KubeCallOptions LwsAccess::call() const
{
    KubeCallOptions options;
    options.cancel = m_cancel;
    options.deadline = Deadline::after(callTime);
    return options;
}

KubeWriteOptions LwsAccess::write() const
{
    KubeWriteOptions options;
    static_cast<KubeCallOptions &>(options) = call();
    return options;
}

Result<Json> LwsAccess::find(const ResourcePath &path)
{
    auto found = m_client.get(path, call());
    if (!found && found.error().code == ErrorCode::NotFound)
        return Json();
    return found;
}

Result<std::vector<Json>> LwsAccess::list(const ResourcePath &collection, const std::string &selector)
{
    KubeListOptions which;
    which.labelSelector = selector;
    auto found = m_client.list(collection, which, call());
    if (!found)
        return tl::unexpected(found.error());
    return std::move(found->items);
}

Result<Json> LwsAccess::create(const ResourcePath &path, const Json &object)
{
    return m_client.create(path, object, write());
}

Result<Json> LwsAccess::apply(const ResourcePath &path, const Json &object)
{
    KubeApplyOptions options;
    static_cast<KubeWriteOptions &>(options) = write();
    options.fieldManager = "lws";
    options.force = true;
    return m_client.apply(path, object, options);
}

Status LwsAccess::update(const ResourcePath &path, const Json &object)
{
    const auto updated = m_client.update(path, object, write());
    return updated ? Status() : tl::unexpected(updated.error());
}

Status LwsAccess::remove(const ResourcePath &path, const Json &object, bool inForeground)
{
    KubeDeleteOptions options;
    static_cast<KubeCallOptions &>(options) = call();
    options.uid = text(at(object, "metadata"), "uid");
    if (inForeground)
        options.propagation = "Foreground";
    const auto removed = m_client.remove(path, options);
    if (!removed && removed.error().code != ErrorCode::NotFound)
        return tl::unexpected(removed.error());
    return {};
}

Result<std::vector<Json>> LwsAccess::revisionsOf(const Json &lws)
{
    const LwsSpec spec = lwsSpec(lws);
    auto all = list(revisionPath(spec.nameSpace), equals(lws_keys::name, spec.name));
    if (!all)
        return all;
    // The StatefulSets' own revisions have the label, too.
    std::erase_if(*all, [&](const Json &revision) {
        const Json &owner = controllerOf(revision);
        return owner.is_object() && text(owner, "uid") != spec.uid;
    });
    return all;
}

Result<GroupObjects> LwsAccess::groupsOf(const Json &lws)
{
    const LwsSpec spec = lwsSpec(lws);
    const std::string ofSet = equals(lws_keys::name, spec.name);
    auto leaders = list(coreV1("pods", spec.nameSpace), ofSet + "," + equals(lws_keys::workerIndex, "0"));
    if (!leaders)
        return tl::unexpected(leaders.error());
    auto sets = list(statefulSetPath(spec.nameSpace), ofSet);
    if (!sets)
        return tl::unexpected(sets.error());
    return GroupObjects{std::move(*leaders), std::move(*sets)};
}

Status LwsAccess::makeService(const Json &service)
{
    const Json &metadata = at(service, "metadata");
    const ResourcePath path = coreV1("services", text(metadata, "namespace"), text(metadata, "name"));
    const auto known = find(path);
    if (!known)
        return tl::unexpected(known.error());
    if (!known->is_null())
        return {};
    const auto made = create(path, service);
    return made ? Status() : tl::unexpected(made.error());
}

} // namespace cluster::local
