#include "cluster/local/lws/webhook_certificate.h"

#include "cluster/local/admission/base64_text.h"
#include "cluster/local/nodes/json_access.h"

#include <nlohmann/json.hpp>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

constexpr std::chrono::hours renewedBefore{24 * 30};

KubeWriteOptions writeOptions(const KubeCallOptions &call)
{
    KubeWriteOptions options;
    static_cast<KubeCallOptions &>(options) = call;
    return options;
}

std::string entry(const Json &secret, const char *key)
{
    return base64Bytes(text(at(secret, "data"), key)).value_or(std::string());
}

CertificateSubject subjectOf(const WebhookCertificateNames &names)
{
    const std::string host = names.service + "." + names.nameSpace + ".svc";
    CertificateSubject subject;
    subject.commonName = host;
    subject.dnsNames = {host};
    subject.server = true;
    return subject;
}

Result<WebhookCertificate> makeCertificate(Json &secret, const CertificateSubject &subject,
                                           CertificateTime now)
{
    const auto authority = CertificateAuthority::create("lws-ca", now);
    if (!authority)
        return tl::unexpected(authority.error());
    const auto issued = authority->issue(subject, now);
    if (!issued)
        return tl::unexpected(issued.error());
    Json &data = secret["data"];
    data["ca.crt"] = base64Text(authority->pem().certificate);
    data["ca.key"] = base64Text(authority->pem().key);
    data["tls.crt"] = base64Text(issued->certificate);
    data["tls.key"] = base64Text(issued->key);
    return WebhookCertificate{*issued, authority->pem().certificate};
}

} // namespace

Result<WebhookCertificate> ensureWebhookCertificate(KubeClient &client, const WebhookCertificateNames &names,
                                                    const KubeCallOptions &call)
{
    const auto now = std::chrono::system_clock::now();
    const CertificateSubject subject = subjectOf(names);
    Result<WebhookCertificate> certificate = fail(ErrorCode::Internal, "no certificate was made");
    const auto stored = client.modify(
        coreV1("secrets", names.nameSpace, names.secret),
        [&](Json &secret) {
            const WebhookCertificate known{{entry(secret, "tls.crt"), entry(secret, "tls.key")},
                                           entry(secret, "ca.crt")};
            if (!known.pem.key.empty()
                && certificateFits(known.pem.certificate, known.caPem, subject, now + renewedBefore)) {
                certificate = known;
                return false;
            }
            certificate = makeCertificate(secret, subject, now);
            return certificate.has_value();
        },
        writeOptions(call));
    if (!stored)
        return tl::unexpected(stored.error());
    return certificate;
}

Status injectCertificate(KubeClient &client, const WebhookCertificateNames &names, const std::string &caPem,
                         const KubeCallOptions &call)
{
    const std::string bundle = base64Text(caPem);
    const auto inject = [&](Json &configuration) {
        bool isChanged = false;
        if (!at(configuration, "webhooks").is_array())
            return false;
        for (Json &webhook : configuration["webhooks"]) {
            if (!webhook.is_object() || text(at(webhook, "clientConfig"), "caBundle") == bundle)
                continue;
            webhook["clientConfig"]["caBundle"] = bundle;
            isChanged = true;
        }
        return isChanged;
    };
    const std::pair<const char *, std::string> configurations[]{
        {"validatingwebhookconfigurations", names.validating},
        {"mutatingwebhookconfigurations", names.mutating}};
    for (const auto &[plural, name] : configurations) {
        const ResourcePath path = apiGroup("admissionregistration.k8s.io", "v1", plural, {}, name);
        if (const auto injected = client.modify(path, inject, writeOptions(call)); !injected)
            return tl::unexpected(injected.error());
    }
    return {};
}

} // namespace cluster::local
