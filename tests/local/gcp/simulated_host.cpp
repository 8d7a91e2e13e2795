#include "tests/local/gcp/simulated_host.h"

#include <functional>

namespace tests {

using namespace cluster;
using namespace cluster::local;

namespace {

constexpr const char *kCa = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----\n";

tl::unexpected<Error> noCluster(const std::string &id)
{
    return fail(ErrorCode::NotFound, "no cluster " + id);
}

} // namespace

void SimulatedHost::failNext(const std::string &call, Error error)
{
    const std::lock_guard lock(m_mutex);
    m_failures[call] = std::move(error);
}

void SimulatedHost::hold(const std::string &call)
{
    const std::lock_guard lock(m_mutex);
    m_held = call;
}

void SimulatedHost::release()
{
    {
        const std::lock_guard lock(m_mutex);
        m_held.clear();
    }
    m_released.notify_all();
}

std::vector<std::string> SimulatedHost::calls() const
{
    const std::lock_guard lock(m_mutex);
    return m_calls;
}

std::vector<HostFault> SimulatedHost::faults() const
{
    const std::lock_guard lock(m_mutex);
    return m_faults;
}

bool SimulatedHost::isWaiting() const
{
    const std::lock_guard lock(m_mutex);
    return m_waiting;
}

Status SimulatedHost::begin(const std::string &call, const std::string &what, const CancelToken &cancel)
{
    const CancelCallback wake(cancel, std::function<void()>([this] { m_released.notify_all(); }));
    std::unique_lock lock(m_mutex);
    m_calls.push_back(call + " " + what);
    m_waiting = m_held == call;
    m_released.wait(lock, [&] { return m_held != call || cancel.stop_requested(); });
    m_waiting = false;
    if (cancel.stop_requested())
        return fail(ErrorCode::Cancelled, "stopped");
    const auto failure = m_failures.find(call);
    if (failure == m_failures.end())
        return {};
    const Error error = failure->second;
    m_failures.erase(failure);
    return tl::unexpected(error);
}

Result<ClusterEndpoint> SimulatedHost::createCluster(const ClusterSpec &spec, const StageHandler &onStage,
                                                     const CancelToken &cancel)
{
    if (Status begun = begin("createCluster", spec.name, cancel); !begun)
        return tl::unexpected(begun.error());
    onStage("control plane is started", 0.5);
    {
        const std::lock_guard lock(m_mutex);
        m_clusters[spec.id].spec = spec;
    }
    onStage("control plane answers", 1);
    return endpoint(spec.id);
}

Status SimulatedHost::updateCluster(const ClusterSpec &spec, const StageHandler &, const CancelToken &cancel)
{
    if (Status begun = begin("updateCluster", spec.name + (spec.rayOperator ? " ray" : ""), cancel); !begun)
        return begun;
    const std::lock_guard lock(m_mutex);
    const auto found = m_clusters.find(spec.id);
    if (found == m_clusters.end())
        return noCluster(spec.id);
    found->second.spec = spec;
    return {};
}

Status SimulatedHost::deleteCluster(const std::string &id, const StageHandler &, const CancelToken &cancel)
{
    if (Status begun = begin("deleteCluster", {}, cancel); !begun)
        return begun;
    const std::lock_guard lock(m_mutex);
    m_clusters.erase(id);
    return {};
}

Status SimulatedHost::createPool(const std::string &id, const PoolSpec &pool, const StageHandler &onStage,
                                 const CancelToken &cancel)
{
    if (Status begun = begin("createPool", pool.name + " " + std::to_string(pool.nodeCount), cancel); !begun)
        return begun;
    onStage("nodes are Ready", 1);
    const std::lock_guard lock(m_mutex);
    const auto found = m_clusters.find(id);
    if (found == m_clusters.end())
        return noCluster(id);
    found->second.pools[pool.name] = pool;
    return {};
}

Status SimulatedHost::updatePool(const std::string &id, const PoolSpec &pool, const StageHandler &,
                                 const CancelToken &cancel)
{
    if (Status begun = begin("updatePool", pool.name + " " + std::to_string(pool.nodeCount), cancel); !begun)
        return begun;
    const std::lock_guard lock(m_mutex);
    const auto found = m_clusters.find(id);
    if (found == m_clusters.end())
        return noCluster(id);
    found->second.pools[pool.name] = pool;
    return {};
}

Status SimulatedHost::deletePool(const std::string &id, const std::string &pool, const StageHandler &,
                                 const CancelToken &cancel)
{
    if (Status begun = begin("deletePool", pool, cancel); !begun)
        return begun;
    const std::lock_guard lock(m_mutex);
    const auto found = m_clusters.find(id);
    if (found == m_clusters.end() || found->second.pools.erase(pool) == 0)
        return fail(ErrorCode::NotFound, "no pool " + pool);
    return {};
}

Result<ClusterEndpoint> SimulatedHost::endpoint(const std::string &id)
{
    const std::lock_guard lock(m_mutex);
    if (!m_clusters.contains(id))
        return noCluster(id);
    return ClusterEndpoint{"127.0.0.1:6443", kCa};
}

Result<std::vector<PoolState>> SimulatedHost::pools(const std::string &id)
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_clusters.find(id);
    if (found == m_clusters.end())
        return noCluster(id);
    std::vector<PoolState> states;
    for (const auto &[name, pool] : found->second.pools)
        states.push_back({name, pool.nodeCount, pool.nodeCount, {}});
    return states;
}

Status SimulatedHost::apply(const std::string &, const HostFault &fault)
{
    const std::lock_guard lock(m_mutex);
    m_faults.push_back(fault);
    return {};
}

} // namespace tests
