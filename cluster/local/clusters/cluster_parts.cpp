#include "cluster/local/clusters/cluster_parts.h"

#include "cluster/local/clusters/cluster_parts_private.h"
#include "cluster/local/clusters/io_call.h"
#include "cluster/local/clusters/user_work.h"

#include <chrono>
#include <utility>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds podPatience{3000}; ///< between SIGTERM and SIGKILL when we stop

} // namespace

/// Disks and buckets, as volumes.
void ClusterParts::Private::startStorage()
{
    const auto logged = [this](const std::string &text) { log(text); };
    if (surroundings.bucketObjects) {
        BucketFoldersOptions options{
            .folder = folder / "buckets",
            .isDriverOn = [this] { return hasBucketDriver.load(); },
            .interval = std::chrono::seconds(1),
            .log = logged,
            .mayList
            = [this](const std::string &bucket, const std::string &uid) { return mayList(bucket, uid); }};
        buckets = std::make_shared<BucketFolders>(surroundings.bucketObjects(), std::move(options));
    }
    if (Status made = makeStorageObjects(client, hasBucketDriver); !made)
        log("storage classes are missing: " + made.error().message);
    const std::string &zone = spec.zones.empty() ? spec.location : spec.zones.front();
    disks = std::make_unique<DiskProvisioner>(
        client, DiskProvisionerOptions{folder / "disks", {spec.project, zone}, logged});
}

/// GCS FUSE reads as the pod, and only where that has Workload Identity.
Status ClusterParts::Private::mayList(const std::string &bucket, const std::string &uid) const
{
    if (!metadata)
        return {};
    const auto identity = metadata->identityOf(uid);
    if (!identity)
        return fail(ErrorCode::Unauthenticated, identity.error().message);
    if (identity->workloadPool.empty())
        return fail(ErrorCode::FailedPrecondition,
                    "Workload Identity Federation is not enabled on node. Please make sure this is enabled "
                    "on both cluster and node pool level "
                    "(https://cloud.google.com/kubernetes-engine/docs/how-to/workload-identity)");
    return surroundings.podIdentities().mayList(*identity, bucket);
}

void ClusterParts::Private::collectMetrics()
{
    if (!surroundings.metrics || !spec.managedPrometheus)
        return;
    auto handle = surroundings.metrics->collect({spec.id, spec.project, spec.location, spec.name,
                                                 endpoint.url, endpoint.caFile, endpoint.adminToken});
    if (handle)
        collection = std::move(*handle);
    else
        log("Managed Prometheus is missing: " + handle.error().message);
}

/// The add-on's webhook, which knows slices.
Status ClusterParts::Private::listenForRay()
{
    if (!spec.rayOperator)
        return {};
    auto setup = tpuWebhookOptions();
    if (!setup)
        return tl::unexpected(setup.error());
    tpuWebhook = std::make_unique<TpuWebhook>(surroundings.io, std::move(*setup), client);
    return tpuWebhook->listen();
}

void ClusterParts::Private::registerForRay()
{
    const Status done = tpuWebhook ? tpuWebhook->registerWith(client) : TpuWebhook::unregisterFrom(client);
    if (!done)
        log("the TPU webhook could not be registered: " + done.error().message);
}

Status ClusterParts::Private::startOnIo()
{
    if (surroundings.podIdentities)
        metadata = std::make_shared<MetadataServer>(surroundings.io, metadataOptions(), client,
                                                    surroundings.podIdentities());
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
    if (Status listening = listenForRay(); !listening)
        return listening;
    EgressProxyOptions egressSetup{
        .socketPath = (folder / "run" / "egress.sock").string(), .plan = plan, .kubelet = kubelet->address()};
    egress = std::make_unique<EgressProxy>(surroundings.io, std::move(egressSetup), services);
    if (Status listening = egress->listen(); !listening)
        return listening;
    ports = std::make_unique<ServicePorts>(
        surroundings.io, services, [this](const ServiceProblem &problem) { serviceEvents->tell(problem); });
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

Status ClusterParts::start(std::vector<PoolSpec> pools, const std::function<void()> &onReachable)
{
    std::error_code error;
    fs::create_directories(d->folder / "run", error);
    const Ipv4 own = *Ipv4::parse("127.0.0.1");
    d->services.pin(d->plan.kubernetesService(), 443, {own, d->endpoint.port, {}});
    d->watch = std::make_unique<ServiceWatch>(d->client, d->services);
    d->nodes = std::make_unique<NodeDirectory>(d->client);
    d->serviceEvents = std::make_unique<ServiceEvents>(d->client);
    d->startStorage();
    if (Status started = onIo(d->surroundings.io, [this] { return d->startOnIo(); }); !started)
        return started;
    if (Status registered = d->metrics->registerWith(d->client); !registered)
        d->log("the metrics API is missing: " + registered.error().message);
    d->registerForRay();
    onReachable();
    d->pools = std::make_unique<NodePools>(d->client, d->poolsOptions());
    if (Status started = d->pools->start(std::move(pools)); !started)
        return started;
    d->collectMetrics();
    d->scaler = d->surroundings.scaler(
        d->spec.id, [this] { return d->pools->pools(); }, d->stopping.get_token());
    d->autoscaler = std::make_unique<Autoscaler>(d->client, *d->scaler, d->autoscalerOptions());
    return {};
}

void ClusterParts::stop()
{
    d->stopping.request_stop();
    d->ray.reset();
    d->collection.reset();
    d->autoscaler.reset();
    d->scaler.reset();
    d->pools.reset();
    std::promise<void> ended;
    onIo(d->surroundings.io, [this, &ended] {
        d->ports.reset();
        d->egress.reset();
        d->tpuWebhook.reset();
        d->metrics.reset();
        d->kubelet.reset();
        if (d->agent)
            d->agent->stop(podPatience, [&ended] { ended.set_value(); });
        else
            ended.set_value();
    });
    ended.get_future().wait();
    onIo(d->surroundings.io, [this] { d->agent.reset(); });
    d->disks.reset();
    d->buckets.reset();
    onIo(d->surroundings.io, [this] { d->metadata.reset(); }); // the buckets asked it
    d->serviceEvents.reset();
    d->nodes.reset();
    d->watch.reset();
}

void ClusterParts::setBucketDriver(bool isOn)
{
    if (d->hasBucketDriver.exchange(isOn) == isOn || !isOn)
        return;
    if (Status made = makeStorageObjects(d->client, true); !made)
        d->log("the CSIDriver of GCS FUSE is missing: " + made.error().message);
}

void ClusterParts::setWorkloadPool(const std::string &pool)
{
    const std::scoped_lock lock(d->poolMutex);
    d->workloadPool = pool;
}

void ClusterParts::watchForRay(std::function<void()> onNeeded)
{
    d->ray = std::make_unique<RayWatch>(d->client, std::move(onNeeded));
}

bool ClusterParts::hasUserWork()
{
    return cluster::local::hasUserWork(d->client);
}

const ControlPlaneEndpoint &ClusterParts::endpoint() const
{
    return d->endpoint;
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
