#pragma once

#include "cluster/base/result.h"
#include "cluster/local/metricsapi/metrics_provider.h"
#include "cluster/local/metricsapi/request_review.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

struct AdapterServerOptions
{
    std::string address; ///< on this machine, 127.x
    std::uint16_t port = 443;
    std::string certificatePem, keyPem;
    FrontProxy proxy; ///< whose certificates are asked for
    bool servesCustom = true, servesExternal = true;
    std::function<void(const std::string &)> log;
};

/// custom.metrics.k8s.io and external.metrics.k8s.io as an aggregated API, as the Custom Metrics Stackdriver
/// Adapter serves them. Made and destroyed on the io_context's thread; questions are answered on others.
class AdapterServer
{
public:
    /// `client` outlives it.
    AdapterServer(boost::asio::io_context &io, AdapterServerOptions options, MetricsProvider provider,
                  KubeClient &client);
    ~AdapterServer(); ///< waits for answers that are being made
    AdapterServer(const AdapterServer &) = delete;
    AdapterServer &operator=(const AdapterServer &) = delete;

    /// Where a port below 1024 is not allowed (to all but root, usually) on its substitute: see
    /// cluster/base/low_port.h.
    [[nodiscard]] Status listen();
    [[nodiscard]] std::uint16_t port() const; ///< after listen()

private:
    struct Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
