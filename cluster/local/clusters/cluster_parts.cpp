#include "cluster/local/clusters/cluster_parts.h"

#include "cluster/kube/kube_client.h"
#include "cluster/local/clusters/io_call.h"
#include "cluster/local/clusters/machine_offers.h"
#include "cluster/local/clusters/node_directory.h"
#include "cluster/local/controlplane/certificate_folder.h"
#include "cluster/local/kubelet/kubelet_server.h"
#include "cluster/local/kubelet/metrics_api.h"
#include "cluster/local/network/egress_proxy.h"
#include "cluster/local/network/service_ports.h"
#include "cluster/local/network/service_table.h"
#include "cluster/local/network/service_watch.h"
#include "cluster/local/nodeagent/node_agent.h"
#include "cluster/local/nodes/autoscaler.h"
#include "cluster/local/nodes/node_pools.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds podPatience{3000}; ///< between SIGTERM and SIGKILL when we stop

/// The n-th node's address: none ends in 0 or 255, and the first ones are the control plane's.
NodeAddresses addressesOf(const AddressPlan &plan, int number)
{
    constexpr std::uint32_t reserved = 16;
    constexpr std::uint32_t perBlock = 254;
    const std::uint32_t n = reserved + static_cast<std::uint32_t>(number);
    const Ipv4 address{plan.nodes().first.value + n / perBlock * 256 + n % perBlock + 1};
    return {address.text(), {}}; // pods have addresses of one flat range: no node has a range of its own
}

} // namespace

struct ClusterParts::Private
{
    Private(const LocalClusterSurroundings &s, fs::path dir, const ClusterSpec &clusterSpec, AddressPlan p,
            ControlPlaneEndpoint e)
        : surroundings(s), folder(std::move(dir)), spec(clusterSpec), plan(p), endpoint(std::move(e)),
          client(http, {endpoint.url, endpoint.caFile.string(), endpoint.adminToken, {}, {}, "slipwayd"}),
          services(plan)
    {
    }

    [[nodiscard]] Status startOnIo();
    [[nodiscard]] Result<KubeletServerOptions> kubeletOptions() const;
    [[nodiscard]] Result<MetricsApiOptions> metricsOptions() const;
    [[nodiscard]] NodeAgentOptions agentOptions() const;
    [[nodiscard]] NodesCluster nodesCluster() const;
    [[nodiscard]] NodePoolsOptions poolsOptions();
    [[nodiscard]] AutoscalerOptions autoscalerOptions() const;
    void log(const std::string &text) const { surroundings.log(spec.name, text); }

    const LocalClusterSurroundings &surroundings;
    fs::path folder;
    ClusterSpec spec;
    AddressPlan plan;
    ControlPlaneEndpoint endpoint;
    HttpClient http;
    KubeClient client;
    ServiceTable services;
    std::unique_ptr<ServiceWatch> watch;
    std::unique_ptr<NodeDirectory> nodes;
    std::unique_ptr<NodeAgent> agent; // this and the next four on the io_context
    std::unique_ptr<KubeletServer> kubelet;
    std::unique_ptr<MetricsApi> metrics;
    std::unique_ptr<EgressProxy> egress;
    std::unique_ptr<ServicePorts> ports;
    std::unique_ptr<NodePools> pools;
    CancelSource stopping;
    std::unique_ptr<PoolScaler> scaler;
    std::unique_ptr<Autoscaler> autoscaler;
};

namespace {

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
    options.hostsOf = [this](const std::string &nameSpace) { return services.hostsText(nameSpace); };
    options.diskFolder = [disks = folder / "disks"](const std::string &name) -> Result<fs::path> {
        std::error_code error;
        fs::create_directories(disks / name, error); // a Kubernetes name: no slash, no dots alone
        if (error)
            return fail(ErrorCode::ResourceExhausted,
                        "can't make the disk " + (disks / name).string() + ": " + error.message());
        return disks / name;
    };
    return options;
}

NodesCluster ClusterParts::Private::nodesCluster() const
{
    NodesCluster cluster;
    cluster.project = spec.project;
    cluster.name = spec.name;
    cluster.version = spec.version;
    cluster.usesWorkloadIdentity = !spec.workloadPool.empty();
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
    return options;
}

Status ClusterParts::Private::startOnIo()
{
    agent = std::make_unique<NodeAgent>(surroundings.io, client, agentOptions());
    if (Status started = agent->start(); !started)
        return started;
    auto kubeletSetup = kubeletOptions();
    if (!kubeletSetup)
        return tl::unexpected(kubeletSetup.error());
    kubelet = std::make_unique<KubeletServer>(surroundings.io, std::move(*kubeletSetup), agent->access(),
                                              [this](Ipv4 address) { return nodes->nodeAt(address); });
    if (Status listening = kubelet->listen(); !listening)
        return listening;
    auto metricsSetup = metricsOptions();
    if (!metricsSetup)
        return tl::unexpected(metricsSetup.error());
    metrics = std::make_unique<MetricsApi>(surroundings.io, std::move(*metricsSetup), agent->access(),
                                           [this] { return nodes->objects(); });
    if (Status listening = metrics->listen(); !listening)
        return listening;
    EgressProxyOptions egressSetup{
        .socketPath = (folder / "run" / "egress.sock").string(), .plan = plan, .kubelet = kubelet->address()};
    egress = std::make_unique<EgressProxy>(surroundings.io, std::move(egressSetup), services);
    if (Status listening = egress->listen(); !listening)
        return listening;
    ports = std::make_unique<ServicePorts>(surroundings.io, services);
    return {};
}

ClusterParts::ClusterParts(const LocalClusterSurroundings &surroundings, fs::path folder,
                           const ClusterSpec &spec, AddressPlan plan, ControlPlaneEndpoint endpoint)
    : d(std::make_unique<Private>(surroundings, std::move(folder), spec, plan, std::move(endpoint)))
{
}

ClusterParts::~ClusterParts()
{
    stop();
}

Status ClusterParts::start(std::vector<PoolSpec> pools)
{
    std::error_code error;
    fs::create_directories(d->folder / "run", error);
    const Ipv4 own = *Ipv4::parse("127.0.0.1");
    d->services.pin(d->plan.kubernetesService(), 443, {own, d->endpoint.port, {}});
    d->watch = std::make_unique<ServiceWatch>(d->client, d->services);
    d->nodes = std::make_unique<NodeDirectory>(d->client);
    if (Status started = onIo(d->surroundings.io, [this] { return d->startOnIo(); }); !started)
        return started;
    if (Status registered = d->metrics->registerWith(d->client); !registered)
        d->log("the metrics API is missing: " + registered.error().message);
    d->pools = std::make_unique<NodePools>(d->client, d->poolsOptions());
    if (Status started = d->pools->start(std::move(pools)); !started)
        return started;
    d->scaler = d->surroundings.scaler(
        d->spec.id, [this] { return d->pools->pools(); }, d->stopping.get_token());
    d->autoscaler = std::make_unique<Autoscaler>(d->client, *d->scaler, d->autoscalerOptions());
    return {};
}

void ClusterParts::stop()
{
    d->stopping.request_stop();
    d->autoscaler.reset();
    d->scaler.reset();
    d->pools.reset();
    std::promise<void> ended;
    onIo(d->surroundings.io, [this, &ended] {
        d->ports.reset();
        d->egress.reset();
        d->metrics.reset();
        d->kubelet.reset();
        if (d->agent)
            d->agent->stop(podPatience, [&ended] { ended.set_value(); });
        else
            ended.set_value();
    });
    ended.get_future().wait();
    onIo(d->surroundings.io, [this] { d->agent.reset(); });
    d->nodes.reset();
    d->watch.reset();
}

NodePools &ClusterParts::nodePools()
{
    return *d->pools;
}

Status ClusterParts::apply(const HostFault &fault)
{
    std::vector<std::string> hosts;
    if (!fault.host.empty())
        hosts = {fault.host};
    for (const PoolSpec &pool : d->pools->pools()) {
        if (fault.host.empty() && (fault.pool.empty() || fault.pool == pool.name)) {
            for (std::string &node : d->pools->nodes(pool.name))
                hosts.push_back(std::move(node));
        }
    }
    const bool isOne = fault.kind == HostFault::Kind::HostLost || fault.kind == HostFault::Kind::Preemption;
    if (isOne && hosts.size() > 1)
        hosts.resize(1);
    if (hosts.empty())
        return fail(ErrorCode::NotFound, "cluster " + d->spec.name + " has no host that this could strike");
    for (const std::string &host : hosts) {
        Status done;
        switch (fault.kind) {
        case HostFault::Kind::HostLost:
            done = fault.active ? d->pools->loseHost(host) : Status{};
            break;
        case HostFault::Kind::Maintenance:
            if (fault.active)
                done = d->pools->announceMaintenance(host, std::chrono::minutes(1), std::chrono::minutes(10));
            break;
        case HostFault::Kind::Preemption:
            if (fault.active)
                done = d->pools->preempt(host);
            break;
        case HostFault::Kind::DiskFull:
            done = d->pools->setDiskPressure(host, fault.active);
            break;
        }
        if (!done)
            return done;
    }
    return {};
}

std::size_t ClusterParts::nodeCount() const
{
    return d->nodes ? d->nodes->size() : 0;
}

std::size_t ClusterParts::readyNodes() const
{
    return d->nodes ? d->nodes->readyCount() : 0;
}

std::size_t ClusterParts::podCount() const
{
    return onIo(d->surroundings.io, [this] { return d->agent ? d->agent->counts().pods : 0; });
}

} // namespace cluster::local
