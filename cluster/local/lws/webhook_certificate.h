#pragma once

#include "cluster/kube/kube_client.h"
#include "cluster/local/controlplane/certificates.h"

#include <string>

namespace cluster::local {

/// Where the manager keeps the certificate of its webhooks, and who is to trust it.
struct WebhookCertificateNames
{
    std::string nameSpace; ///< of the Secret and of the Service
    std::string secret = "lws-webhook-server-cert";
    std::string service = "lws-webhook-service";
    std::string validating = "lws-validating-webhook-configuration";
    std::string mutating = "lws-mutating-webhook-configuration";
};

struct WebhookCertificate
{
    PemPair pem;
    std::string caPem;
};

/// The certificate in the Secret (tls.crt, tls.key, ca.crt, ca.key), for SERVICE.NAMESPACE.svc; made anew and
/// stored where there is none that is valid. Replicas that do this at once agree on one. Blocking.
/// NotFound: there is no such Secret; those of the API server.
[[nodiscard]] Result<WebhookCertificate> ensureWebhookCertificate(KubeClient &client,
                                                                  const WebhookCertificateNames &names,
                                                                  const KubeCallOptions &call = {});

/// Puts `caPem` into all webhooks of both configurations. Blocking.
[[nodiscard]] Status injectCertificate(KubeClient &client, const WebhookCertificateNames &names,
                                       const std::string &caPem, const KubeCallOptions &call = {});

} // namespace cluster::local
