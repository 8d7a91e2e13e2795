// How nodes come and go when a pool is made, changed and deleted.

#include "cluster/kube/kube_client.h"
#include "cluster/kube/pause.h"
#include "cluster/local/nodes/node_names.h"
#include "cluster/local/nodes/node_pools_private.h"
#include "cluster/local/nodes/parallel.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using std::chrono::seconds;

constexpr std::size_t callsAtOnce = 6;
/// How long the control plane may take to see a node as Ready; then the pool is given out all the same.
constexpr seconds schedulableTime{20};

/// What a pool can't change in place.
bool isSameShape(const PoolSpec &a, const PoolSpec &b)
{
    return a.machineType == b.machineType && a.zones == b.zones && a.tpuTopology == b.tpuTopology
        && a.tpuAccelerator == b.tpuAccelerator && a.tpuChipsPerNode == b.tpuChipsPerNode
        && a.isMultiHost == b.isMultiHost && a.gpuAccelerator == b.gpuAccelerator
        && a.gpusPerNode == b.gpusPerNode && a.provisioning == b.provisioning;
}

} // namespace

int hostsOf(const PoolSpec &pool)
{
    long chips = 1;
    std::string_view text = pool.tpuTopology;
    while (!text.empty()) {
        int side = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), side);
        if (error != std::errc() || side <= 0 || side > 1024)
            return 0;
        chips *= side;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (!text.empty() && text.front() != 'x')
            return 0;
        if (!text.empty())
            text.remove_prefix(1);
    }
    if (pool.tpuChipsPerNode <= 0 || chips % pool.tpuChipsPerNode != 0)
        return 0;
    return static_cast<int>(chips / pool.tpuChipsPerNode);
}

NodePools::Private::Private(KubeClient &client, NodePoolsOptions options)
    : m_client(client), m_options(std::move(options)), m_writer(client), m_devices(client), m_events(client),
      m_heartbeats(client)
{
}

void NodePools::Private::stop()
{
    m_cancel.request_stop();
    if (m_watch)
        m_watch->stop();
    m_faults.stop();
    m_heartbeats.stop();
}

Status NodePools::Private::check(const PoolSpec &pool) const
{
    const std::string where = "node pool '" + pool.name + "': ";
    if (pool.name.empty() || pool.zones.empty())
        return fail(ErrorCode::InvalidArgument, where + "a pool needs a name and a zone");
    if (!m_options.machine(pool.machineType))
        return fail(ErrorCode::InvalidArgument, where + "no machine type '" + pool.machineType + "'");
    if (pool.nodeCount < 0)
        return fail(ErrorCode::InvalidArgument, where + "a negative number of nodes");
    if (!pool.isMultiHost)
        return {};
    const int hosts = hostsOf(pool);
    if (hosts == 0)
        return fail(ErrorCode::InvalidArgument,
                    where + "topology '" + pool.tpuTopology + "' is no whole number of hosts of "
                        + std::to_string(pool.tpuChipsPerNode) + " chips");
    if (pool.nodeCount != 0 && pool.nodeCount != hosts)
        return fail(ErrorCode::FailedPrecondition,
                    where + "a multi-host TPU slice of topology " + pool.tpuTopology + " has "
                        + std::to_string(hosts) + " nodes or none, not " + std::to_string(pool.nodeCount));
    return {};
}

Status NodePools::Private::put(const PoolSpec &wanted, bool mayBeNew, const CancelToken &cancel)
{
    if (const Status checked = check(wanted); !checked)
        return checked;
    PoolPointer pool;
    bool isNew = false;
    {
        const std::lock_guard lock(m_mutex);
        PoolPointer &entry = m_pools[wanted.name];
        isNew = !entry;
        if (isNew && !mayBeNew) {
            m_pools.erase(wanted.name);
            return fail(ErrorCode::NotFound, "no node pool named '" + wanted.name + "'");
        }
        if (isNew) {
            entry = std::make_shared<Pool>();
            entry->spec = wanted;
            entry->spec.nodeCount = 0;
        }
        pool = entry;
    }
    const std::lock_guard change(pool->change);
    const Status fitted = fit(*pool, wanted, cancel);
    if (!fitted && isNew) {
        const std::lock_guard lock(m_mutex);
        m_pools.erase(wanted.name);
    }
    return fitted;
}

Status NodePools::Private::fit(Pool &pool, const PoolSpec &wanted, const CancelToken &cancel)
{
    PoolSpec before;
    int count = 0;
    {
        const std::lock_guard lock(m_mutex);
        before = pool.spec;
        count = static_cast<int>(pool.machines.size());
        if (!isSameShape(before, wanted) && count > 0)
            return fail(ErrorCode::FailedPrecondition,
                        "node pool '" + wanted.name
                            + "': machine type, accelerator, topology and zones can't be changed: make a new "
                              "pool and delete this one");
        pool.spec = wanted;
    }
    Status done = relabel(pool, before, cancel);
    if (done && count < wanted.nodeCount)
        done = grow(pool, wanted.nodeCount - count, cancel);
    else if (done && count > wanted.nodeCount)
        shrink(pool, count - wanted.nodeCount, cancel);
    if (!done) {
        const std::lock_guard lock(m_mutex);
        pool.spec.nodeCount = static_cast<int>(pool.machines.size());
    }
    return done;
}

Status NodePools::Private::grow(Pool &pool, int count, const CancelToken &cancel)
{
    std::set<int> slots;
    for (const Machine &machine : machinesOf(pool))
        slots.insert(machine.slot);
    std::vector<Machine> machines;
    for (int slot = 0; static_cast<int>(machines.size()) < count; ++slot) {
        if (!slots.contains(slot))
            machines.push_back(newMachine(pool, slot));
    }
    return bring(pool, std::move(machines), cancel);
}

/// Makes the nodes and waits until they are Ready; all or none.
Status NodePools::Private::bring(Pool &pool, std::vector<Machine> machines, const CancelToken &cancel)
{
    const PoolSpec spec = [&] {
        const std::lock_guard lock(m_mutex);
        return pool.spec;
    }();
    const MachineShape shape = shapeOf(spec);
    const bool isReady = m_options.bootTime.count() == 0;
    Status made = inParallel(machines.size(), callsAtOnce, [&](std::size_t i) -> Status {
        Machine &machine = machines[i];
        const auto object
            = nodeObject(m_options.cluster, spec, shape, machine.identity, unixTimeNow(), isReady);
        Result<std::string> uid = m_writer.create(object, cancel);
        if (!uid)
            return tl::unexpected(uid.error());
        machine.uid = std::move(*uid);
        m_heartbeats.add(machine.identity.name, machine.uid);
        return m_devices.publish(spec, machine.identity.name, machine.uid, cancel);
    });
    {
        const std::lock_guard lock(m_mutex); // before their boot ends: a fault may strike them from now on
        for (const Machine &machine : machines)
            pool.machines[machine.identity.name] = machine;
    }
    if (made)
        made = finishBoot(machines, cancel);
    if (!made)
        retire(pool, machines, false, m_cancel.get_token()); // none is left behind, also when cancelled
    return made;
}

Status NodePools::Private::finishBoot(const std::vector<Machine> &machines, const CancelToken &cancel)
{
    if (m_options.bootTime.count() > 0) {
        if (!pauseFor(m_options.bootTime, cancel))
            return fail(ErrorCode::Cancelled, "stopped while the nodes were booting");
        const Status ready = inParallel(machines.size(), callsAtOnce, [&](std::size_t i) {
            return m_writer.setCondition(machines[i].identity.name, readyCondition(true, {}, unixTimeNow()),
                                         cancel);
        });
        if (!ready)
            return ready;
    }
    for (const Machine &machine : machines)
        tell(m_options.listeners.onAdded, machine.identity.name);
    const Deadline deadline = Deadline::after(schedulableTime);
    return inParallel(machines.size(), callsAtOnce, [&](std::size_t i) -> Status {
        m_writer.awaitSchedulable(machines[i].identity.name, deadline, cancel);
        if (cancel.stop_requested())
            return fail(ErrorCode::Cancelled, "stopped while the nodes became ready");
        return {};
    });
}

void NodePools::Private::shrink(Pool &pool, int count, const CancelToken &cancel)
{
    retire(pool, choose(pool, count, cancel), true, cancel);
}

/// Which nodes go: those that the autoscaler has marked first, then those without work, then the youngest.
std::vector<NodePools::Private::Machine> NodePools::Private::choose(Pool &pool, int count,
                                                                    const CancelToken &cancel)
{
    std::vector<Machine> machines = machinesOf(pool);
    std::sort(machines.begin(), machines.end(),
              [](const Machine &a, const Machine &b) { return a.slot > b.slot; });
    if (count < static_cast<int>(machines.size())) {
        std::stable_partition(machines.begin(), machines.end(), [&](const Machine &machine) {
            return m_writer.isEmpty(machine.identity.name, cancel).value_or(false);
        });
        std::stable_partition(machines.begin(), machines.end(), [&](const Machine &machine) {
            return m_writer.hasTaint(machine.identity.name, "ToBeDeletedByClusterAutoscaler", cancel);
        });
    }
    machines.resize(static_cast<std::size_t>(count));
    return machines;
}

/// Takes machines out: their pods move away if there is time, then the nodes and all that was on them go.
void NodePools::Private::retire(Pool &pool, const std::vector<Machine> &machines, bool isDrained,
                                const CancelToken &cancel)
{
    if (isDrained) {
        const Deadline deadline = Deadline::after(m_options.drainTime);
        (void)inParallel(machines.size(), callsAtOnce, [&](std::size_t i) -> Status {
            (void)m_writer.cordon(machines[i].identity.name, cancel);
            return {};
        });
        (void)inParallel(machines.size(), callsAtOnce, [&](std::size_t i) -> Status {
            m_writer.drain(machines[i].identity.name, deadline, cancel);
            return {};
        });
    }
    const bool hasDevices = [&] {
        const std::lock_guard lock(m_mutex);
        return hasNetworkDriver(pool.spec);
    }();
    // From here on all of it happens, whoever cancels: a node that is half gone helps nobody.
    const CancelToken own = m_cancel.get_token();
    (void)inParallel(machines.size(), callsAtOnce, [&](std::size_t i) -> Status {
        const std::string &name = machines[i].identity.name;
        m_heartbeats.remove(name);
        tell(m_options.listeners.onGone, name);
        m_writer.dropPods(name, own);
        if (hasDevices)
            m_devices.withdraw(name, own);
        (void)m_writer.remove(name, own);
        return {};
    });
    const std::lock_guard lock(m_mutex);
    for (const Machine &machine : machines) {
        pool.machines.erase(machine.identity.name);
        m_numbers.erase(machine.number);
    }
}

Status NodePools::Private::relabel(Pool &pool, const PoolSpec &before, const CancelToken &cancel)
{
    const PoolSpec now = [&] {
        const std::lock_guard lock(m_mutex);
        return pool.spec;
    }();
    std::map<std::string, std::optional<std::string>> labels;
    for (const auto &[key, value] : before.labels) {
        if (!now.labels.contains(key))
            labels[key] = std::nullopt;
    }
    for (const auto &[key, value] : now.labels) {
        const auto known = before.labels.find(key);
        if (known == before.labels.end() || known->second != value)
            labels[key] = value;
    }
    const bool hasNewTaints = before.taints != now.taints;
    if (labels.empty() && !hasNewTaints)
        return {};
    const std::vector<Machine> machines = machinesOf(pool);
    return inParallel(machines.size(), callsAtOnce, [&](std::size_t i) -> Status {
        const std::string &name = machines[i].identity.name;
        Status done = m_writer.setLabels(name, labels, cancel);
        if (done && hasNewTaints)
            done = m_writer.changeTaints(name, now.taints, before.taints, cancel);
        if (done)
            done = m_devices.publish(now, name, machines[i].uid, cancel);
        if (hasNetworkDriver(before) && !hasNetworkDriver(now))
            m_devices.withdraw(name, cancel);
        return done;
    });
}

Status NodePools::Private::remove(const std::string &name, const CancelToken &cancel)
{
    const PoolPointer pool = find(name);
    if (!pool)
        return {};
    const std::lock_guard change(pool->change);
    retire(*pool, machinesOf(*pool), true, cancel);
    const std::lock_guard lock(m_mutex);
    m_pools.erase(name);
    return {};
}

} // namespace cluster::local
