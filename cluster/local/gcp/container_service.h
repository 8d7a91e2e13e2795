#pragma once

#include "cluster/local/gcp/cluster_methods.h"
#include "cluster/local/gcp/message_shape.h"
#include "cluster/local/gcp/pool_methods.h"

#include <functional>

namespace cluster::local {

/// The Kubernetes Engine API, container.googleapis.com: v1, v1beta1 and v1alpha1, with paths of locations and
/// of zones. Clusters and nodes are made by a ClusterHost.
class ContainerService : public GcpService
{
public:
    ContainerService(GcpContext &context, ClusterHost &host);
    ~ContainerService() override;

    ServerResponse handle(const ServerRequest &request, std::span<const std::string> path) override;
    void start() override; ///< takes on operations of the last process
    void stop() override;

    [[nodiscard]] ContainerStore &store() { return m_store; }
    [[nodiscard]] ContainerParts parts() { return {m_context, m_store, m_operations, m_host}; }

private:
    struct Route;
    using Answer = GoogleResult<nlohmann::json>;

    static bool readRoute(std::span<const std::string> path, Route &route);
    Answer answer(const ServerRequest &request, const Route &route);
    Answer clusters(const ServerRequest &request, const Route &route);
    Answer oneCluster(const ServerRequest &request, const Route &route);
    static Answer withBody(const ServerRequest &request, const Route &route, const MessageShape &shape,
                           const std::function<Answer(const nlohmann::json &body)> &method);
    Answer updateCluster(const Route &route, const nlohmann::json &body);
    Answer clusterVerb(const ServerRequest &request, const Route &route);
    Answer pools(const ServerRequest &request, const Route &route);
    Answer poolVerb(const ServerRequest &request, const Route &route);
    Answer onePool(const ServerRequest &request, const Route &route);
    Answer operations(const ServerRequest &request, const Route &route);
    Answer serverConfig(const Route &route) const;

    GcpContext &m_context;
    ClusterHost &m_host;
    ContainerStore m_store;
    ContainerOperations m_operations;
    ClusterMethods m_clusterMethods;
    PoolMethods m_poolMethods;
};

} // namespace cluster::local
