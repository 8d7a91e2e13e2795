#include "cluster/local/gcp/container_store.h"

#include <algorithm>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr const char *kClusters = "container/clusters/";
constexpr const char *kOperations = "container/operations/";

std::string keyOf(const ClusterKey &cluster)
{
    return kClusters + cluster.project + "/" + cluster.location + "/" + cluster.name;
}

std::string keyOf(const OperationRecord &operation)
{
    return kOperations + operation.cluster.project + "/" + operation.cluster.location + "/" + operation.id;
}

json toJson(const ClusterKey &key)
{
    return {{"project", key.project}, {"location", key.location}, {"name", key.name}};
}

ClusterKey keyFrom(const json &value)
{
    return {value.at("project").get<std::string>(), value.at("location").get<std::string>(),
            value.at("name").get<std::string>()};
}

json toJson(const ClusterRecord &cluster)
{
    return {{"key", toJson(cluster.key)},
            {"id", cluster.id},
            {"operation", cluster.operation},
            {"wire", cluster.wire}};
}

json toJson(const OperationRecord &operation)
{
    return {{"id", operation.id},     {"cluster", toJson(operation.cluster)},
            {"type", operation.type}, {"pool", operation.pool},
            {"wire", operation.wire}, {"before", operation.before}};
}

ClusterRecord clusterFrom(const json &value)
{
    return {keyFrom(value.at("key")), value.at("id").get<std::string>(),
            value.at("operation").get<std::string>(), value.at("wire")};
}

OperationRecord operationFrom(const json &value)
{
    return {value.at("id").get<std::string>(),
            keyFrom(value.at("cluster")),
            value.at("type").get<std::string>(),
            value.at("pool").get<std::string>(),
            value.at("before"),
            value.at("wire")};
}

tl::unexpected<GoogleError> notFound(const std::string &path)
{
    return googleFail(ErrorCode::NotFound, "Not found: " + path + ".");
}

/// "P/" or "P/L/"; all of the project (or of all projects) where the location is "-".
std::string prefixOf(const char *kind, const std::string &project, const std::string &location)
{
    std::string prefix = kind;
    if (project == "-")
        return prefix;
    prefix += project + "/";
    return location == "-" ? prefix : prefix + location + "/";
}

GoogleStatus toGoogle(const Status &status)
{
    return status ? GoogleStatus{} : tl::unexpected(toGoogleError(status.error()));
}

} // namespace

std::string ClusterKey::path() const
{
    return "projects/" + project + "/locations/" + location + "/clusters/" + name;
}

json *ClusterRecord::pool(const std::string &name)
{
    for (json &pool : wire["nodePools"]) {
        if (pool.value("name", std::string()) == name)
            return &pool;
    }
    return nullptr;
}

bool OperationRecord::isDone() const
{
    return wire.value("status", std::string()) == "DONE";
}

GoogleResult<ClusterRecord> ContainerStore::cluster(const ClusterKey &key) const
{
    const auto document = m_documents.get(keyOf(key));
    if (!document)
        return tl::unexpected(toGoogleError(document.error()));
    if (!*document)
        return notFound(key.path());
    return clusterFrom((*document)->value);
}

GoogleResult<std::vector<ClusterRecord>> ContainerStore::clusters(const std::string &project,
                                                                  const std::string &location) const
{
    const auto documents = m_documents.list(prefixOf(kClusters, project, location));
    if (!documents)
        return tl::unexpected(toGoogleError(documents.error()));
    std::vector<ClusterRecord> clusters;
    for (const Document &document : *documents)
        clusters.push_back(clusterFrom(document.value));
    return clusters;
}

GoogleResult<ClusterRecord> ContainerStore::clusterOfId(const std::string &id) const
{
    auto all = clusters("-", "-");
    if (!all)
        return tl::unexpected(all.error());
    const auto found = std::find_if(all->begin(), all->end(),
                                    [&](const ClusterRecord &cluster) { return cluster.id == id; });
    if (found == all->end())
        return notFound("cluster " + id);
    return std::move(*found);
}

GoogleResult<OperationRecord> ContainerStore::operation(const std::string &project,
                                                        const std::string &location,
                                                        const std::string &id) const
{
    const auto document = m_documents.get(prefixOf(kOperations, project, location) + id);
    if (!document)
        return tl::unexpected(toGoogleError(document.error()));
    if (!*document)
        return notFound("projects/" + project + "/locations/" + location + "/operations/" + id);
    return operationFrom((*document)->value);
}

GoogleResult<std::vector<OperationRecord>> ContainerStore::operations(const std::string &project,
                                                                      const std::string &location) const
{
    const auto documents = m_documents.list(prefixOf(kOperations, project, location));
    if (!documents)
        return tl::unexpected(toGoogleError(documents.error()));
    std::vector<OperationRecord> operations;
    for (const Document &document : *documents)
        operations.push_back(operationFrom(document.value));
    return operations;
}

GoogleStatus ContainerStore::create(ClusterRecord cluster, const OperationRecord &operation)
{
    const std::lock_guard lock(m_mutex);
    const auto old = m_documents.get(keyOf(cluster.key));
    if (!old)
        return tl::unexpected(toGoogleError(old.error()));
    if (*old)
        return googleFail(ErrorCode::AlreadyExists, "Already exists: " + cluster.key.path() + ".");
    cluster.operation = operation.id;
    return toGoogle(
        m_documents.apply({{keyOf(cluster.key), toJson(cluster)}, {keyOf(operation), toJson(operation)}}));
}

GoogleStatus ContainerStore::begin(const ClusterKey &key, OperationRecord &operation,
                                   const std::function<GoogleStatus(ClusterRecord &)> &change)
{
    const std::lock_guard lock(m_mutex);
    auto record = cluster(key);
    if (!record)
        return tl::unexpected(record.error());
    if (!record->operation.empty())
        return googleFail(ErrorCode::FailedPrecondition,
                          "Cluster is running incompatible operation " + record->operation + ".");
    if (auto changed = change(*record); !changed)
        return changed;
    record->operation = operation.id;
    return toGoogle(
        m_documents.apply({{keyOf(key), toJson(*record)}, {keyOf(operation), toJson(operation)}}));
}

GoogleStatus ContainerStore::finish(const OperationRecord &operation,
                                    const std::function<bool(ClusterRecord &)> &change)
{
    const std::lock_guard lock(m_mutex);
    std::vector<DocumentChange> changes{{keyOf(operation), toJson(operation)}};
    if (auto record = cluster(operation.cluster)) {
        const bool stays = change(*record);
        record->operation.clear();
        changes.push_back({keyOf(operation.cluster), stays ? std::optional(toJson(*record)) : std::nullopt});
    }
    return toGoogle(m_documents.apply(changes));
}

GoogleStatus ContainerStore::writeOperation(const OperationRecord &operation)
{
    const auto written = m_documents.put(keyOf(operation), toJson(operation));
    return written ? GoogleStatus{} : tl::unexpected(toGoogleError(written.error()));
}

void ContainerStore::sweep(const std::string &time)
{
    const auto all = operations("-", "-");
    if (!all)
        return;
    for (const OperationRecord &operation : *all) {
        if (operation.isDone() && operation.wire.value("endTime", std::string()) < time)
            static_cast<void>(m_documents.remove(keyOf(operation)));
    }
}

} // namespace cluster::local
