#pragma once

#include "cluster/base/result.h"
#include "cluster/local/network/address_plan.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace boost::asio {
class io_context;
}

namespace cluster {
class KubeClient;
}

namespace cluster::local {

class PodAccess;

struct MetricsApiOptions
{
    AddressPlan plan;
    std::string certificatePem; ///< For metrics-server.kube-system.svc.
    std::string keyPem;
    std::string caPem; ///< That the apiserver is told to trust, in the APIService.
    std::string clientCaPem; ///< Only clients with a certificate of this CA are answered...
    std::string clientName = "front-proxy-client"; ///< ...and of them only this common name.
};

/// metrics.k8s.io/v1beta1 (`kubectl top`, HorizontalPodAutoscaler) as an aggregated API: nodes and pods from
/// what PodAccess measures. It listens on the plan's control plane address; the apiserver reaches it as the
/// endpoint of a Service, through the egress proxy. Runs on the io_context's thread.
class MetricsApi
{
public:
    /// The cluster's Node objects, for their names and labels.
    using Nodes = std::function<nlohmann::json()>;

    /// `pods` outlives it.
    MetricsApi(boost::asio::io_context &io, MetricsApiOptions options, PodAccess &pods, Nodes nodes);
    ~MetricsApi();
    MetricsApi(const MetricsApi &) = delete;
    MetricsApi &operator=(const MetricsApi &) = delete;

    [[nodiscard]] Status listen();
    [[nodiscard]] std::uint16_t port() const; ///< After listen().
    /// Makes or updates Service, EndpointSlice and APIService, after listen(). Blocking: not on the
    /// io_context's thread.
    [[nodiscard]] Status registerWith(KubeClient &client) const;

private:
    struct Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
