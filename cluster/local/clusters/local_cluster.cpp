#include "cluster/local/clusters/local_cluster.h"

#include "cluster/local/clusters/io_call.h"
#include "cluster/local/clusters/local_cluster_private.h"
#include "cluster/local/nodes/node_pools.h"

#include <algorithm>
#include <utility>

namespace cluster::local {

namespace fs = std::filesystem;

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
    const ClusterCall call(*d);
    return d->start(onStage, cancel);
}

Status LocalCluster::restore(const CancelToken &cancel)
{
    if (!d->record.isAsleep || d->surroundings.stopIdle.count() == 0)
        return start(nobodyAsks, cancel);
    const std::scoped_lock oneAtATime(d->lifecycle);
    Status open = d->openFront();
    d->setState(open ? "asleep" : "failed", open ? std::string() : open.error().message);
    return open;
}

void LocalCluster::stop()
{
    d->keeper->end(); // first: a start of its own ends early
    const std::scoped_lock oneAtATime(d->lifecycle);
    d->isRetired = true;
    if (d->front)
        onIo(d->surroundings.io, [this] { d->front.reset(); });
    d->stopRunning("stopped");
}

Status LocalCluster::update(const ClusterSpec &spec)
{
    const ClusterCall call(*d);
    {
        const std::scoped_lock oneAtATime(d->lifecycle);
        KeptCluster changed = d->record;
        const bool needsRestart = changed.spec.rayOperator != spec.rayOperator;
        changed.spec = spec;
        if (Status kept = d->keep(std::move(changed)); !kept)
            return kept;
        const auto parts = d->runningParts();
        if (parts) {
            parts->setBucketDriver(spec.gcsFuse);
            parts->setWorkloadPool(spec.workloadPool);
        }
        if (!parts || !needsRestart)
            return {}; // one that sleeps or failed has it when it starts
        onIo(d->surroundings.io, [this] { d->front->hold(); });
        d->stopRunning("starting"); // the operator is one of the control plane's programs
    }
    return d->start(nobodyAsks, {});
}

Status LocalCluster::createPool(const PoolSpec &pool, const CancelToken &cancel)
{
    const ClusterCall call(*d);
    if (Status running = d->start(nobodyAsks, {}); !running)
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
    const ClusterCall call(*d);
    if (Status running = d->start(nobodyAsks, {}); !running)
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
    const ClusterCall call(*d);
    if (Status running = d->start(nobodyAsks, {}); !running)
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
    const ClusterCall call(*d);
    if (Status running = d->start(nobodyAsks, {}); !running)
        return running;
    return d->runningParts()->apply(fault);
}

Result<ClusterEndpoint> LocalCluster::endpoint() const
{
    const std::scoped_lock lock(d->mutex);
    if (d->address.empty() || d->caPem.empty())
        return fail(ErrorCode::Unavailable, "cluster " + d->record.spec.name + " has no endpoint yet");
    return ClusterEndpoint{d->address, d->caPem};
}

std::vector<PoolState> LocalCluster::pools() const
{
    const auto parts = d->runningParts();
    std::vector<PoolState> states;
    if (!parts) {
        const std::scoped_lock lock(d->mutex);
        for (const PoolSpec &pool : d->record.pools) {
            if (d->stateName == "asleep") // its nodes are where they were
                states.push_back({pool.name, pool.nodeCount, pool.nodeCount, {}});
        }
        return states;
    }
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
    } else {
        for (const PoolState &pool : pools())
            state.nodes += static_cast<std::size_t>(pool.nodeCount);
    }
    return state;
}

} // namespace cluster::local
