#include "cluster/local/nodes/node_pools.h"

#include "cluster/local/nodes/node_pools_private.h"

namespace cluster::local {

NodePools::NodePools(KubeClient &client, NodePoolsOptions options)
    : d(std::make_unique<Private>(client, std::move(options)))
{
}

NodePools::~NodePools()
{
    d->stop();
}

Status NodePools::start(std::vector<PoolSpec> pools)
{
    return d->start(std::move(pools));
}

void NodePools::stop()
{
    d->stop();
}

Status NodePools::createPool(const PoolSpec &pool, const CancelToken &cancel)
{
    return d->put(pool, true, cancel);
}

Status NodePools::updatePool(const PoolSpec &pool, const CancelToken &cancel)
{
    return d->put(pool, false, cancel);
}

Status NodePools::resizePool(const std::string &pool, int nodeCount, const CancelToken &cancel)
{
    for (PoolSpec &spec : d->specs()) {
        if (spec.name != pool)
            continue;
        spec.nodeCount = nodeCount;
        return d->put(spec, false, cancel);
    }
    return fail(ErrorCode::NotFound, "no node pool named '" + pool + "'");
}

Status NodePools::deletePool(const std::string &pool, const CancelToken &cancel)
{
    return d->remove(pool, cancel);
}

std::vector<PoolSpec> NodePools::pools() const
{
    return d->specs();
}

std::vector<std::string> NodePools::nodes(const std::string &pool) const
{
    return d->names(pool);
}

Status NodePools::loseHost(const std::string &node)
{
    return d->loseHost(node);
}

Status NodePools::announceMaintenance(const std::string &node, std::chrono::seconds startsIn,
                                      std::chrono::seconds duration)
{
    return d->announceMaintenance(node, startsIn, duration);
}

Status NodePools::preempt(const std::string &node, std::chrono::seconds grace)
{
    return d->preempt(node, grace);
}

Status NodePools::setDiskPressure(const std::string &node, bool isFull)
{
    return d->setDiskPressure(node, isFull);
}

} // namespace cluster::local
