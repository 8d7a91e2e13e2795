// What each of a cluster's parts is told.
#include "cluster/local/clusters/cluster_parts_private.h"
#include "cluster/local/clusters/machine_offers.h"
#include "cluster/local/controlplane/certificate_folder.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

/// The n-th node's address: none ends in 0 or 255, and the first ones are the control plane's.
NodeAddresses addressesOf(const AddressPlan &plan, int number)
{
    constexpr std::uint32_t reserved = 16;
    constexpr std::uint32_t perBlock = 254;
    const std::uint32_t n = reserved + static_cast<std::uint32_t>(number);
    const Ipv4 address{plan.nodes().first.value + n / perBlock * 256 + n % perBlock + 1};
    return {address.text(), {}}; // pods have addresses of one flat range: no node has a range of its own
}

Result<IdentityFiles> identityOf(const fs::path &folder, const std::string &clusterName,
                                 const std::string &name, const CertificateSubject &subject)
{
    const auto now = std::chrono::system_clock::now();
    const auto authority = CertificateFolder::open(folder / "pki", "slipway local " + clusterName, now);
    if (!authority)
        return tl::unexpected(authority.error());
    return authority->identity(name, subject, now);
}

} // namespace

Result<KubeletServerOptions> ClusterParts::Private::kubeletOptions() const
{
    CertificateSubject subject;
    subject.commonName = "system:node:slipway";
    subject.organizations = {"system:nodes"};
    subject.dnsNames = {"localhost"};
    subject.addresses = {"127.0.0.1"};
    subject.server = true;
    const auto identity = identityOf(folder, spec.name, "kubelet", subject);
    if (!identity)
        return tl::unexpected(identity.error());
    return KubeletServerOptions{.plan = plan,
                                .certificatePem = identity->pem.certificate,
                                .keyPem = identity->pem.key,
                                .clientCaPem = endpoint.caPem,
                                .clientName = "kube-apiserver-kubelet-client"};
}

Result<MetricsApiOptions> ClusterParts::Private::metricsOptions() const
{
    CertificateSubject subject;
    subject.commonName = "metrics-server";
    subject.dnsNames = {"metrics-server.kube-system.svc", "metrics-server.kube-system.svc.cluster.local"};
    subject.server = true;
    const auto identity = identityOf(folder, spec.name, "metrics-server", subject);
    if (!identity)
        return tl::unexpected(identity.error());
    return MetricsApiOptions{.plan = plan,
                             .certificatePem = identity->pem.certificate,
                             .keyPem = identity->pem.key,
                             .caPem = endpoint.caPem,
                             .clientCaPem = endpoint.caPem};
}

Result<TpuWebhookOptions> ClusterParts::Private::tpuWebhookOptions() const
{
    CertificateSubject subject;
    subject.commonName = "kuberay-tpu-webhook";
    subject.dnsNames = {tpuWebhookHost};
    subject.server = true;
    const auto identity = identityOf(folder, spec.name, "tpu-webhook", subject);
    if (!identity)
        return tl::unexpected(identity.error());
    return TpuWebhookOptions{.listenAddress = onThisMachine(plan.controlPlane()).text(),
                             .address = plan.controlPlane().text(),
                             .certificatePem = identity->pem.certificate,
                             .keyPem = identity->pem.key,
                             .caPem = endpoint.caPem,
                             .log = [this](const std::string &text) { log(text); }};
}

MetadataServerOptions ClusterParts::Private::metadataOptions() const
{
    return MetadataServerOptions{.plan = plan,
                                 .project = spec.project,
                                 .location = spec.location,
                                 .cluster = spec.name,
                                 .clusterUid = spec.id,
                                 .workloadPool =
                                     [this] {
                                         const std::scoped_lock lock(poolMutex);
                                         return workloadPool;
                                     },
                                 .node = [this](const std::string &name) { return nodes->object(name); },
                                 .variables =
                                     [this] {
                                         return surroundings.googleVariables
                                             ? surroundings.googleVariables()
                                             : std::vector<std::pair<std::string, std::string>>();
                                     }};
}

NodeAgentOptions ClusterParts::Private::agentOptions() const
{
    NodeAgentOptions options;
    options.folder = folder / "pods";
    options.imagesFile = surroundings.imagesFile;
    options.initProgram = surroundings.programs / "slipway-pod-init";
    options.programsFolder = surroundings.programs;
    options.modelsFolder = surroundings.models;
    options.podCidr = plan.pods().text();
    options.kubernetesServiceHost = "127.0.0.1";
    options.kubernetesServicePort = endpoint.port;
    options.allowProcess = surroundings.allowsProcesses;
    options.podman = surroundings.podman;
    options.hostsOf = [this](const std::string &nameSpace) { return services.hostsText(nameSpace); };
    options.diskFolder = [disks = folder / "disks"](const std::string &name) -> Result<fs::path> {
        std::error_code error;
        fs::create_directories(disks / name, error); // a Kubernetes name: no slash, no dots alone
        if (error)
            return fail(ErrorCode::ResourceExhausted,
                        "can't make the disk " + (disks / name).string() + ": " + error.message());
        return disks / name;
    };
    options.buckets = buckets;
    options.metadata = metadata;
    return options;
}

NodesCluster ClusterParts::Private::nodesCluster() const
{
    NodesCluster cluster;
    cluster.project = spec.project;
    cluster.name = spec.name;
    cluster.version = spec.version;
    // A zone is its region and a letter.
    const std::string &zone = spec.zones.empty() ? spec.location : spec.zones.front();
    cluster.region = zone.substr(0, zone.rfind('-'));
    return cluster;
}

AutoscalerOptions ClusterParts::Private::autoscalerOptions() const
{
    AutoscalerOptions options;
    options.cluster = nodesCluster();
    options.machine = machineShape;
    options.createsPools = spec.autopilot || spec.nodeAutoProvisioning;
    options.isAutopilot = spec.autopilot;
    options.offers = machineOffers(spec.zones);
    // Google's times, compressed; but the scheduler and the pods are real and need theirs.
    const auto compressed = [this](std::chrono::milliseconds real, std::chrono::milliseconds least) {
        const auto time = std::chrono::duration<double, std::milli>(real) / surroundings.timeFactor;
        return std::max(least, std::chrono::duration_cast<std::chrono::milliseconds>(time));
    };
    using std::chrono::seconds;
    options.scanInterval = compressed(options.scanInterval, seconds(1));
    options.unneededTime = compressed(options.unneededTime, seconds(30));
    options.settleTime = compressed(options.settleTime, seconds(5));
    options.failureBackoff = compressed(options.failureBackoff, seconds(10));
    options.evictionTime = compressed(options.evictionTime, seconds(20));
    options.log = [this](const std::string &text) { log(text); };
    return options;
}

NodePoolsOptions ClusterParts::Private::poolsOptions()
{
    NodePoolsOptions options;
    options.cluster = nodesCluster();
    options.addresses = [this](int number) { return addressesOf(plan, number); };
    options.machine = machineShape;
    const auto setLost = [this](const std::string &node, bool isLost) {
        boost::asio::post(surroundings.io, [this, node, isLost] {
            if (agent)
                agent->setNodeLost(node, isLost);
        });
    };
    options.listeners.onAdded = [setLost](const std::string &node) { setLost(node, false); };
    options.listeners.onGone = [setLost](const std::string &node) { setLost(node, true); };
    options.listeners.onShutdown = [this](const std::string &node, std::chrono::seconds grace) {
        boost::asio::post(surroundings.io, [this, node, grace] {
            if (agent)
                agent->shutDownNode(node, grace);
        });
    };
    return options;
}

} // namespace cluster::local
