#include "cluster/local/clusters/local_cluster.h"

#include "cluster/local/clusters/cluster_parts.h"
#include "cluster/local/nodes/node_pools.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

void nobodyAsks(std::string_view /*stage*/, double /*done*/) {}

} // namespace

struct LocalCluster::Private
{
    Private(const LocalClusterSurroundings &s, fs::path dir, KeptCluster r)
        : surroundings(s), folder(std::move(dir)), record(std::move(r))
    {
    }

    [[nodiscard]] ControlPlaneOptions controlPlaneOptions(const AddressPlan &plan) const;
    Status run(const StageHandler &onStage, const CancelToken &cancel);
    Status keep(KeptCluster changed);
    void setState(std::string name, std::string message = {});
    void showControlPlane(std::shared_ptr<ControlPlane> plane);
    [[nodiscard]] std::shared_ptr<ClusterParts> runningParts() const;

    const LocalClusterSurroundings &surroundings;
    const fs::path folder;

    std::mutex lifecycle; ///< one start or stop at a time; who comes meanwhile waits for its end
    mutable std::mutex mutex; ///< guards what follows; never held during a call
    KeptCluster record;
    std::string stateName = "stopped";
    std::string message;
    std::string address;
    std::string caPem;
    std::shared_ptr<ControlPlane> controlPlane;
    std::shared_ptr<ClusterParts> parts;
};

void LocalCluster::Private::setState(std::string name, std::string text)
{
    const std::scoped_lock lock(mutex);
    stateName = std::move(name);
    message = std::move(text);
}

void LocalCluster::Private::showControlPlane(std::shared_ptr<ControlPlane> plane)
{
    const std::scoped_lock lock(mutex);
    controlPlane.swap(plane); // what was there ends after the lock is open again: that takes a while
}

Status LocalCluster::Private::keep(KeptCluster changed)
{
    if (Status written = writeRecord(folder, changed); !written)
        return written;
    const std::scoped_lock lock(mutex);
    record = std::move(changed);
    return {};
}

std::shared_ptr<ClusterParts> LocalCluster::Private::runningParts() const
{
    const std::scoped_lock lock(mutex);
    return parts;
}

ControlPlaneOptions LocalCluster::Private::controlPlaneOptions(const AddressPlan &plan) const
{
    ControlPlaneOptions options;
    options.name = record.spec.name;
    options.dir = folder;
    options.programs = surroundings.controlPlanePrograms;
    options.egressSocket = folder / "run" / "egress.sock";
    options.serviceRange = plan.services().text();
    options.advertiseAddress = plan.controlPlane().text();
    options.tokens = {{surroundings.userToken, "you@slipway.local", {"system:masters"}}};
    options.ray = record.spec.rayOperator;
    return options;
}

Status LocalCluster::Private::run(const StageHandler &onStage, const CancelToken &cancel)
{
    if (surroundings.controlPlanePrograms.empty())
        return fail(ErrorCode::FailedPrecondition, surroundings.missingPrograms);
    const auto plan = AddressPlan::forCluster(record.index);
    if (!plan)
        return tl::unexpected(plan.error());
    const std::string name = record.spec.name;
    auto plane = std::make_shared<ControlPlane>(
        controlPlaneOptions(*plan), [log = surroundings.log, name](const ProcessEvent &event) {
            log(name, event.process + (event.message.empty() ? "" : ": " + event.message));
        });
    showControlPlane(plane); // so that its processes can be seen while they start
    const auto started = plane->start([&](const std::string &stage) { onStage(stage, 0.3); }, cancel);
    if (!started)
        return tl::unexpected(started.error());
    onStage("connecting the nodes", 0.8);
    auto around = std::make_shared<ClusterParts>(surroundings, folder, record.spec, *plan, *started);
    if (Status ready = around->start(record.pools); !ready)
        return ready;
    const std::scoped_lock lock(mutex);
    address = "127.0.0.1:" + std::to_string(started->port);
    caPem = started->caPem;
    parts = std::move(around);
    return {};
}

LocalCluster::LocalCluster(const LocalClusterSurroundings &surroundings, fs::path folder, KeptCluster record)
    : d(std::make_unique<Private>(surroundings, std::move(folder), std::move(record)))
{
}

LocalCluster::~LocalCluster()
{
    stop();
}

Status LocalCluster::start(const StageHandler &onStage, const CancelToken &cancel)
{
    const std::scoped_lock oneAtATime(d->lifecycle);
    if (d->runningParts())
        return {};
    std::error_code error;
    fs::create_directories(d->folder / "run", error);
    if (Status kept = d->keep(d->record); !kept)
        return kept;
    d->setState("starting");
    Status done = d->run(onStage, cancel);
    if (done) {
        d->setState("running");
    } else {
        d->showControlPlane(nullptr); // nothing of it runs
        d->setState("failed", done.error().message);
    }
    d->surroundings.log(d->record.spec.name, done ? "runs" : "did not start: " + done.error().message);
    return done;
}

void LocalCluster::stop()
{
    const std::scoped_lock oneAtATime(d->lifecycle);
    std::shared_ptr<ClusterParts> parts;
    std::shared_ptr<ControlPlane> plane;
    {
        const std::scoped_lock lock(d->mutex);
        parts = std::exchange(d->parts, nullptr);
        plane = std::exchange(d->controlPlane, nullptr);
        if (parts || plane)
            d->stateName = "stopped";
    }
    if (parts)
        parts->stop();
    if (plane)
        plane->stop();
}

Status LocalCluster::update(const ClusterSpec &spec)
{
    KeptCluster changed = d->record;
    const bool needsRestart = changed.spec.rayOperator != spec.rayOperator;
    changed.spec = spec;
    if (Status kept = d->keep(std::move(changed)); !kept || !needsRestart)
        return kept;
    stop(); // the operator is one of the control plane's programs
    return start(nobodyAsks, {});
}

Status LocalCluster::createPool(const PoolSpec &pool, const CancelToken &cancel)
{
    if (Status running = start(nobodyAsks, {}); !running)
        return running;
    KeptCluster changed = d->record;
    std::erase_if(changed.pools, [&](const PoolSpec &other) { return other.name == pool.name; });
    const KeptCluster before = changed;
    changed.pools.push_back(pool);
    if (Status kept = d->keep(changed); !kept)
        return kept;
    Status made = d->runningParts()->nodePools().createPool(pool, cancel);
    if (!made && made.error().code == ErrorCode::AlreadyExists)
        made = {}; // taken on after a restart, which made it from the record
    if (!made && made.error().code != ErrorCode::Cancelled) {
        if (Status undone = d->keep(before); !undone)
            return undone;
    }
    return made;
}

Status LocalCluster::updatePool(const PoolSpec &pool, const CancelToken &cancel)
{
    if (Status running = start(nobodyAsks, {}); !running)
        return running;
    KeptCluster changed = d->record;
    const auto found = std::ranges::find(changed.pools, pool.name, &PoolSpec::name);
    if (found == changed.pools.end())
        return fail(ErrorCode::NotFound, "cluster " + d->record.spec.name + " has no pool " + pool.name);
    const int before = found->nodeCount;
    *found = pool;
    if (Status kept = d->keep(std::move(changed)); !kept)
        return kept;
    NodePools &pools = d->runningParts()->nodePools();
    if (before != pool.nodeCount) {
        if (Status resized = pools.resizePool(pool.name, pool.nodeCount, cancel); !resized)
            return resized;
    }
    return pools.updatePool(pool);
}

Status LocalCluster::deletePool(const std::string &pool, const CancelToken &cancel)
{
    if (Status running = start(nobodyAsks, {}); !running)
        return running;
    const Status gone = d->runningParts()->nodePools().deletePool(pool, cancel);
    if (!gone && gone.error().code != ErrorCode::NotFound)
        return gone;
    KeptCluster changed = d->record;
    std::erase_if(changed.pools, [&](const PoolSpec &other) { return other.name == pool; });
    return d->keep(std::move(changed));
}

Status LocalCluster::apply(const HostFault &fault)
{
    if (Status running = start(nobodyAsks, {}); !running)
        return running;
    return d->runningParts()->apply(fault);
}

Result<ClusterEndpoint> LocalCluster::endpoint() const
{
    const std::scoped_lock lock(d->mutex);
    if (d->address.empty())
        return fail(ErrorCode::Unavailable, "cluster " + d->record.spec.name + " has no endpoint yet");
    return ClusterEndpoint{d->address, d->caPem};
}

std::vector<PoolState> LocalCluster::pools() const
{
    const auto parts = d->runningParts();
    std::vector<PoolState> states;
    if (!parts)
        return states;
    for (const PoolSpec &pool : parts->nodePools().pools()) {
        const int count = static_cast<int>(parts->nodePools().nodes(pool.name).size());
        states.push_back({pool.name, count, count, {}});
    }
    return states;
}

LocalClusterState LocalCluster::state() const
{
    LocalClusterState state;
    std::shared_ptr<ControlPlane> plane;
    std::shared_ptr<ClusterParts> parts;
    {
        const std::scoped_lock lock(d->mutex);
        state.spec = d->record.spec;
        state.state = d->stateName;
        state.message = d->message;
        state.endpoint = d->address;
        plane = d->controlPlane;
        parts = d->parts;
    }
    if (plane)
        state.processes = plane->state().processes;
    if (parts) {
        state.nodes = parts->nodeCount();
        state.pods = parts->podCount();
    }
    return state;
}

} // namespace cluster::local
