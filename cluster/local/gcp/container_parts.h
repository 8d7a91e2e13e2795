#pragma once

#include "cluster/local/gcp/cluster_json.h"
#include "cluster/local/gcp/container_operations.h"
#include "cluster/local/gcp/projects.h"

namespace cluster::local {

/// What the container API's methods share.
struct ContainerParts
{
    GcpContext &context;
    ContainerStore &store;
    ContainerOperations &operations;
    ClusterHost &host;

    [[nodiscard]] ContainerNames names(const Project &project) const
    {
        return {project.id, project.number, context.timestamp()};
    }

    /// GKE's check of quotas before it makes machines, and the fault "quota". 403.
    [[nodiscard]] GoogleStatus checkQuota(const std::string &project, const PoolSpec &pool, int nodes) const;
    /// The cluster as it is shown now: with the host's addresses and counts.
    [[nodiscard]] nlohmann::json show(ClusterRecord cluster) const;
    /// How much of a quota the project's node pools take.
    [[nodiscard]] double usage(const std::string &project, const struct QuotaKey &key) const;
};

} // namespace cluster::local
