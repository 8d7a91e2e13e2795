#pragma once

#include "cluster/local/gcp/container_parts.h"

namespace cluster::local {

/// What the container API does with clusters. All answer with an Operation.
class ClusterMethods
{
public:
    explicit ClusterMethods(ContainerParts parts) : m_parts(parts) {}

    GoogleResult<nlohmann::json> create(const Project &project, const std::string &location,
                                        const nlohmann::json &body);
    /// The field "update" of the body, of which GKE takes one thing at a time.
    GoogleResult<nlohmann::json> update(const Project &project, const ClusterKey &key,
                                        const nlohmann::json &body);
    GoogleResult<nlohmann::json> setAddons(const Project &project, const ClusterKey &key,
                                           const nlohmann::json &body);
    GoogleResult<nlohmann::json> setLabels(const Project &project, const ClusterKey &key,
                                           const nlohmann::json &body);
    GoogleResult<nlohmann::json> remove(const Project &project, const ClusterKey &key);

private:
    GoogleResult<nlohmann::json> start(OperationRecord &operation,
                                       const std::function<GoogleStatus(ClusterRecord &)> &change);
    GoogleStatus addPools(ClusterRecord &record, const nlohmann::json &asked, const ContainerNames &names);
    GoogleResult<nlohmann::json> upgrade(const Project &project, const ClusterKey &key,
                                         const nlohmann::json &update);

    ContainerParts m_parts;
};

} // namespace cluster::local
