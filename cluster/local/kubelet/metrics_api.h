#pragma once

#include "cluster/base/result.h"
#include "cluster/local/network/address_plan.h"
#include <cstdint>
#include <memory>
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
    std::string clientCaPem; ///< The front proxy's: only it is answered.
};

/// metrics.k8s.io/v1beta1 (`kubectl top`, HorizontalPodAutoscaler) as an aggregated API: nodes and pods from
/// what PodAccess measures. It listens on the plan's control plane address; the apiserver reaches it as the
/// endpoint of a Service, through the egress proxy. Runs on the io_context's thread.
class MetricsApi
{
public:
    MetricsApi(boost::asio::io_context &io, MetricsApiOptions options, PodAccess &pods);
    ~MetricsApi();
    MetricsApi(const MetricsApi &) = delete;
    MetricsApi &operator=(const MetricsApi &) = delete;

    [[nodiscard]] Status listen();
    /// Makes or updates Service, EndpointSlice and APIService. Blocking; not on the io_context's thread.
    [[nodiscard]] Status registerWith(KubeClient &client) const;

private:
    struct Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
