#pragma once

#include "cluster/local/gcp/pod_identities.h"
#include "cluster/local/network/address_plan.h"
#include "cluster/local/nodeagent/pod_metadata.h"

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace cluster {
class KubeClient;
}

namespace cluster::local {

struct MetadataServerOptions
{
    AddressPlan plan;
    std::string project, location, cluster, clusterUid;
    std::function<std::string()> workloadPool; ///< of the cluster now; empty: it has none
    /// A Node object by its name; null where there is none. From any thread.
    std::function<nlohmann::json(const std::string &name)> node;
    /// What pods are told besides: where Google's services are on this machine.
    std::function<std::vector<std::pair<std::string, std::string>>()> variables;
};

/// GKE's metadata server for the pods of a cluster. Each pod has an address of its own for it
/// (AddressPlan::metadata), by which it is known who asks; port 80, or, where only root may have that, any
/// other. A pod is told by variables that Google's libraries know, and by the name metadata.google.internal.
///
/// Whoever runs programs as another user of this machine is refused: an address can be found by trying.
///
/// Made, asked and destroyed on the io_context's thread; questions are answered on others.
class MetadataServer final : public PodMetadata
{
public:
    /// `client` and `identities` outlive it.
    MetadataServer(boost::asio::io_context &io, MetadataServerOptions options, KubeClient &client,
                   PodIdentities &identities);
    ~MetadataServer() override; ///< waits for answers that are being made
    MetadataServer(const MetadataServer &) = delete;
    MetadataServer &operator=(const MetadataServer &) = delete;

    Result<PodMetadataAccess> open(const PodSpec &pod) override;
    void close(const std::string &uid) override;

    /// Whom a pod is for Google. Blocks: asks for its Kubernetes service account.
    [[nodiscard]] Result<PodIdentity> identityOf(const std::string &uid);

private:
    struct Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
