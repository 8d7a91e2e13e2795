#include "adapter.h"

#include "cluster/kube/kube_client.h"
#include "cluster/local/controlplane/certificates.h"
#include "cluster/local/metricsapi/adapter_server.h"
#include "cluster/local/metricsapi/metadata_client.h"
#include "cluster/local/metricsapi/monitoring_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace slipway_adapter {

namespace local = cluster::local;
using cluster::ErrorCode;
using cluster::Result;
using cluster::Status;
using nlohmann::json;

namespace {

void log(const std::string &text)
{
    std::fprintf(stderr, "%s\n", text.c_str());
}

Result<cluster::KubeEndpoint> kubeEndpoint(const Options &options)
{
    std::ifstream file(options.accountFolder + "/token");
    std::stringstream token;
    if (!(token << file.rdbuf()))
        return cluster::fail(ErrorCode::FailedPrecondition,
                             "unable to construct client config: can't read " + options.accountFolder
                                 + "/token: this program runs in a pod with a service account");
    cluster::KubeEndpoint endpoint;
    endpoint.url = options.kubeUrl;
    endpoint.caFile = options.accountFolder + "/ca.crt";
    endpoint.token = token.str();
    endpoint.userAgent = "custom-metrics-stackdriver-adapter (slipway)";
    return endpoint;
}

local::ApiFailure failureOf(const cluster::KubeStatus &status, const cluster::Error &error)
{
    if (status.httpStatus == 0)
        return {500, "", error.message};
    return {status.httpStatus, status.reason, status.message};
}

local::ApiResult<std::vector<std::string>> namesIn(cluster::KubeClient &client, const std::string &plural,
                                                   const std::string &nameSpace, const std::string &selector)
{
    cluster::KubeStatus status;
    cluster::KubeCallOptions options;
    options.failure = &status;
    cluster::KubeListOptions wanted;
    wanted.labelSelector = selector;
    const auto list = client.list(cluster::coreV1(plural, nameSpace), wanted, options);
    if (!list)
        return tl::unexpected(failureOf(status, list.error()));
    std::vector<std::string> names;
    for (const json &object : list->items)
        names.push_back(object.at("metadata").value("name", ""));
    return names;
}

local::ApiResult<void> find(cluster::KubeClient &client, const std::string &plural,
                            const std::string &nameSpace, const std::string &name)
{
    cluster::KubeStatus status;
    cluster::KubeCallOptions options;
    options.failure = &status;
    const auto object = client.get(cluster::coreV1(plural, nameSpace, name), options);
    if (!object)
        return tl::unexpected(failureOf(status, object.error()));
    return {};
}

local::MetricSources sourcesOf(cluster::KubeClient &kube, const local::MonitoringClient &monitoring)
{
    return {[&kube](const std::string &plural, const std::string &nameSpace, const std::string &selector) {
                return namesIn(kube, plural, nameSpace, selector);
            },
            [&kube](const std::string &plural, const std::string &nameSpace, const std::string &name) {
                return find(kube, plural, nameSpace, name);
            },
            [&monitoring](const std::string &project, const std::string &promql) {
                return monitoring.query(project, promql);
            },
            [&monitoring](const std::string &project, const std::string &metric) {
                return monitoring.types(project, metric);
            },
            [] { return std::chrono::system_clock::now(); },
            log};
}

/// Whose certificates the API server shows.
Result<local::FrontProxy> frontProxy(cluster::KubeClient &client)
{
    const auto map
        = client.get(cluster::coreV1("configmaps", "kube-system", "extension-apiserver-authentication"));
    if (!map)
        return cluster::fail(
            map.error().code,
            "Unable to get configmap/extension-apiserver-authentication in kube-system.  Usually fixed by "
            "'kubectl create rolebinding -n kube-system ROLEBINDING_NAME "
            "--role=extension-apiserver-authentication-reader --serviceaccount=YOUR_NS:YOUR_SA': "
                + map.error().message);
    return local::frontProxyOf(*map);
}

/// The real adapter ends as well where Google doesn't let it read: its log says so, and the pod is tried
/// again.
Status checkGoogle(const local::MonitoringClient &monitoring, const std::string &project)
{
    const auto types = monitoring.types(project, "up");
    if (types)
        return {};
    const bool isDenied = types.error().code == ErrorCode::PermissionDenied;
    return cluster::fail(types.error().code,
                         "Failed request to stackdriver api: "
                             + (isDenied ? "googleapi: Error 403: " + types.error().message + ", forbidden"
                                         : types.error().message));
}

/// Nobody checks it: the APIServices say insecureSkipTLSVerify.
Result<local::PemPair> servingCertificate()
{
    const auto now = std::chrono::system_clock::now();
    const auto authority = local::CertificateAuthority::create("custom-metrics-stackdriver-adapter", now);
    if (!authority)
        return tl::unexpected(authority.error());
    local::CertificateSubject subject;
    subject.commonName = "custom-metrics-stackdriver-adapter";
    subject.dnsNames = {"custom-metrics-stackdriver-adapter.custom-metrics.svc", "localhost"};
    subject.server = true;
    return authority->issue(subject, now);
}

} // namespace

Status runAdapter(const Options &options)
{
    if (options.metadataHost.empty())
        return cluster::fail(ErrorCode::FailedPrecondition,
                             "Failed to retrieve GCE config: Not running on GCE.");
    cluster::HttpClient http;
    local::MetadataClient metadata(http, options.metadataHost);
    const auto cluster = metadata.cluster();
    if (!cluster)
        return cluster::fail(cluster.error().code,
                             "Failed to retrieve GCE config: " + cluster.error().message);
    auto endpoint = kubeEndpoint(options);
    if (!endpoint)
        return tl::unexpected(endpoint.error());
    cluster::KubeClient kube(http, std::move(*endpoint));
    const local::MonitoringClient monitoring(http, options.googleUrl, options.googleCaFile,
                                             [&metadata] { return metadata.token(); });
    if (Status done = checkGoogle(monitoring, cluster->project); !done)
        return done;
    auto proxy = frontProxy(kube);
    if (!proxy)
        return tl::unexpected(proxy.error());
    const auto certificate = servingCertificate();
    if (!certificate)
        return tl::unexpected(certificate.error());

    boost::asio::io_context io(1);
    local::AdapterServerOptions setup;
    setup.address = options.address;
    setup.port = options.port;
    setup.certificatePem = certificate->certificate;
    setup.keyPem = certificate->key;
    setup.proxy = std::move(*proxy);
    setup.servesCustom = options.servesCustom;
    setup.servesExternal = options.servesExternal;
    local::AdapterServer server(io, std::move(setup),
                                local::MetricsProvider(*cluster, sourcesOf(kube, monitoring)), kube);
    if (Status listening = server.listen(); !listening)
        return listening;
    log("Serving securely on " + options.address + ":" + std::to_string(server.port()));
    boost::asio::signal_set signals(io, SIGTERM, SIGINT);
    signals.async_wait([&io](const boost::system::error_code &error, int) {
        if (!error)
            io.stop();
    });
    io.run();
    return {};
}

} // namespace slipway_adapter
