#pragma once

#include "cluster/base/result.h"
#include "cluster/local/lws/lws_counters.h"
#include "cluster/local/lws/webhook_certificate.h"

#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

struct LwsEndpointOptions
{
    std::string address; ///< of the pod, on this machine
    unsigned short probePort = 8081, webhookPort = 9443, metricsPort = 8443;
    std::function<void(const std::string &)> log; ///< what was refused; may be empty
};

/// What the manager listens on: /healthz and /readyz (ready once the webhooks are), the webhooks by TLS, and
/// /metrics by TLS for those whom the cluster lets read it. Made, used and destroyed on the io_context's
/// thread.
class LwsEndpoints
{
public:
    /// All must outlive it. \param client  for the metrics' readers; asked on a thread of its own
    LwsEndpoints(boost::asio::io_context &io, LwsEndpointOptions options, LwsCounters &counters,
                 KubeClient &client);
    ~LwsEndpoints();
    LwsEndpoints(const LwsEndpoints &) = delete;
    LwsEndpoints &operator=(const LwsEndpoints &) = delete;

    [[nodiscard]] Status openProbes();
    /// Webhooks and metrics; instead of those that are open with an older certificate.
    [[nodiscard]] Status openSecured(const PemPair &certificate);

private:
    struct Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
