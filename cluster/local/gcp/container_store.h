#pragma once

#include "cluster/local/gcp/documents.h"
#include "cluster/local/gcp/google_error.h"

#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cluster::local {

struct ClusterKey
{
    std::string project; ///< id
    std::string location;
    std::string name;

    /// "projects/P/locations/L/clusters/NAME"
    [[nodiscard]] std::string path() const;
};

/// A cluster as the container API knows it.
struct ClusterRecord
{
    ClusterKey key;
    std::string id; ///< ClusterSpec::id
    std::string operation; ///< the one that changes it now; empty: none
    nlohmann::json wire; ///< the Cluster of the API, with its nodePools

    [[nodiscard]] nlohmann::json *pool(const std::string &name); ///< nullptr: none of this name
};

/// An operation of the container API and what it does, in a form that a later process can take on.
struct OperationRecord
{
    std::string id; ///< "operation-1761662360188-eb0a551b-…"
    ClusterKey cluster;
    std::string type; ///< "CREATE_NODE_POOL"
    std::string pool; ///< its name; empty: the cluster itself
    nlohmann::json before; ///< what is put back when it fails; null: nothing
    nlohmann::json wire; ///< the Operation of the API

    [[nodiscard]] bool isDone() const;
};

/// Clusters and operations in the documents store. A cluster has one changing operation at a time, and both
/// are written together. Any thread.
class ContainerStore
{
public:
    explicit ContainerStore(Documents &documents) : m_documents(documents) {}

    GoogleResult<ClusterRecord> cluster(const ClusterKey &key) const; ///< or NotFound
    /// "-" for all locations, or all projects.
    GoogleResult<std::vector<ClusterRecord>> clusters(const std::string &project,
                                                      const std::string &location) const;
    /// The one with this ClusterSpec::id, or NotFound.
    GoogleResult<ClusterRecord> clusterOfId(const std::string &id) const;
    GoogleResult<OperationRecord> operation(const std::string &project, const std::string &location,
                                            const std::string &id) const;
    GoogleResult<std::vector<OperationRecord>> operations(const std::string &project,
                                                          const std::string &location) const;

    /// Writes a new cluster with the operation that makes it. AlreadyExists.
    GoogleStatus create(ClusterRecord cluster, const OperationRecord &operation);
    /// Changes the cluster and ties the operation to it. `change` may refuse and may complete the operation
    /// record. Errors: NotFound; FailedPrecondition while another operation runs.
    GoogleStatus begin(const ClusterKey &key, OperationRecord &operation,
                       const std::function<GoogleStatus(ClusterRecord &)> &change);
    /// Changes the cluster, or removes it (`change` returns false), and writes the operation.
    GoogleStatus finish(const OperationRecord &operation, const std::function<bool(ClusterRecord &)> &change);
    GoogleStatus writeOperation(const OperationRecord &operation);

    /// Forgets operations that ended before `time` (RFC 3339).
    void sweep(const std::string &time);

private:
    Documents &m_documents;
    mutable std::mutex m_mutex; ///< between reading a cluster and writing it
};

} // namespace cluster::local
