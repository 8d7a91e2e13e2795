#pragma once

#include "cluster/kube/kube_client.h"
#include "cluster/local/lws/lws_endpoints.h"
#include "cluster/local/lws/webhook_certificate.h"

#include <string>
#include <vector>

namespace slipway_lws {

/// How the manager's pod was set up.
struct Settings
{
    cluster::KubeEndpoint endpoint; ///< of the pod's service account
    std::string nameSpace; ///< of the pod: there are the lease, the Secret and the Service
    std::string podName; ///< its host name
    bool elects = true; ///< several replicas agree on one
    bool makesCertificate = true;
    cluster::local::WebhookCertificateNames certificate;
    cluster::local::LwsEndpointOptions endpoints;
};

/// From what a container has: the arguments (--config FILE and the flags of the real manager that mean
/// something here), the environment and the service account's folder. FailedPrecondition: not in a pod.
/// InvalidArgument: the file, with the line.
[[nodiscard]] cluster::Result<Settings> settingsOf(const std::vector<std::string> &arguments);

} // namespace slipway_lws
