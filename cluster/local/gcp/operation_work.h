#pragma once

#include "cluster/catalog/gke_catalog.h"
#include "cluster/local/gcp/cluster_host.h"
#include "cluster/local/gcp/container_store.h"
#include "cluster/local/gcp/gcp_service.h"

#include <optional>
#include <string>

namespace cluster::local {

/// A failure with the code of GKE's StatusCondition, where it has one ("GCE_STOCKOUT").
struct WorkError
{
    Error error;
    std::string condition;
};

/// What an operation does to the host, and to the cluster's record when it ends.
class OperationWork
{
public:
    OperationWork(GcpContext &context, ClusterHost &host) : m_context(context), m_host(host) {}

    /// Faults on order for this operation, found before its work: what it will fail with.
    std::optional<WorkError> plannedFailure(const OperationRecord &operation, const ClusterRecord &cluster);

    /// Blocks until the host has done it. Idempotent: an operation that was interrupted is done again.
    tl::expected<std::optional<ClusterEndpoint>, WorkError> perform(const OperationRecord &operation,
                                                                    ClusterRecord &cluster,
                                                                    const StageHandler &onStage,
                                                                    const CancelToken &cancel);
    /// Takes away what a failed operation made, as far as GKE does.
    void cleanUp(const OperationRecord &operation, const ClusterRecord &cluster, const CancelToken &cancel);

    /// The record after it. False: the cluster is gone.
    bool conclude(const OperationRecord &operation, ClusterRecord &cluster, const WorkError *error,
                  const std::optional<ClusterEndpoint> &endpoint) const;

private:
    using Outcome = tl::expected<std::optional<ClusterEndpoint>, WorkError>;

    Outcome createCluster(const ClusterRecord &cluster, const StageHandler &onStage,
                          const CancelToken &cancel);
    Outcome changePool(const OperationRecord &operation, ClusterRecord &cluster, const StageHandler &onStage,
                       const CancelToken &cancel);
    std::optional<WorkError> stockout(const OperationRecord &operation, const ClusterRecord &cluster,
                                      const nlohmann::json &pool);

    GcpContext &m_context;
    ClusterHost &m_host;
};

/// Sets endpoint and certificate as clients read them.
void showEndpoint(nlohmann::json &cluster, const ClusterEndpoint &endpoint);

} // namespace cluster::local
