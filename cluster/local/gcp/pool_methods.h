#pragma once

#include "cluster/local/gcp/container_parts.h"

namespace cluster::local {

/// What the container API does with node pools. All answer with an Operation.
class PoolMethods
{
public:
    /// GKE itself may also change the pools of Autopilot clusters.
    enum class Caller { User, Gke };

    explicit PoolMethods(ContainerParts parts, Caller caller = Caller::User)
        : m_parts(parts), m_caller(caller)
    {
    }

    GoogleResult<nlohmann::json> create(const Project &project, const ClusterKey &key,
                                        const nlohmann::json &body);
    GoogleResult<nlohmann::json> setSize(const Project &project, const ClusterKey &key,
                                         const std::string &pool, const nlohmann::json &body);
    GoogleResult<nlohmann::json> setAutoscaling(const Project &project, const ClusterKey &key,
                                                const std::string &pool, const nlohmann::json &body);
    GoogleResult<nlohmann::json> setManagement(const Project &project, const ClusterKey &key,
                                               const std::string &pool, const nlohmann::json &body);
    /// Labels, taints, version, and what else may change in place.
    GoogleResult<nlohmann::json> update(const Project &project, const ClusterKey &key,
                                        const std::string &pool, const nlohmann::json &body);
    GoogleResult<nlohmann::json> remove(const Project &project, const ClusterKey &key,
                                        const std::string &pool);

private:
    using Change = std::function<GoogleStatus(ClusterRecord &, nlohmann::json &pool)>;
    /// Ties an operation to a pool that there is; `change` alters its JSON.
    GoogleResult<nlohmann::json> start(const std::string &type, const Project &project, const ClusterKey &key,
                                       const std::string &pool, const Change &change);

    ContainerParts m_parts;
    Caller m_caller;
};

} // namespace cluster::local
