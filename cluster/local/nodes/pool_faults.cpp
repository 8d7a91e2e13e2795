// What happens to machines: lost, maintained, taken away.

#include "cluster/kube/kube_client.h"
#include "cluster/kube/pause.h"
#include "cluster/local/nodes/node_pools_private.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const NodeTaint impendingTermination{"cloud.google.com/impending-node-termination", "true", "NoSchedule"};
const NodeTaint stopped{"node.cloudprovider.kubernetes.io/shutdown", "", "NoSchedule"};
const NodeTaint maintenanceStarted{"cloud.google.com/maintenance-window-started", "true", "NoSchedule"};
constexpr seconds longestRepairWait{30};
constexpr const char *scheduledLabel = "cloud.google.com/scheduled-maintenance-time";
constexpr const char *activeLabel = "cloud.google.com/active-node-maintenance";
constexpr const char *performLabel = "cloud.google.com/perform-maintenance"; ///< the user's: begin now

} // namespace

/// False where there is no such node or a fault is on its way through it already.
bool NodePools::Private::beginFault(const std::string &node, PoolPointer &pool, Machine &machine)
{
    pool = poolOf(node);
    if (!pool)
        return false;
    const std::lock_guard lock(m_mutex);
    const auto found = pool->machines.find(node);
    if (found == pool->machines.end() || found->second.isDown)
        return false;
    found->second.isDown = true;
    machine = found->second;
    return true;
}

void NodePools::Private::endFault(const PoolPointer &pool, const std::string &node)
{
    const std::lock_guard lock(m_mutex);
    if (const auto found = pool->machines.find(node); found != pool->machines.end())
        found->second.isDown = false;
}

Status NodePools::Private::loseHost(const std::string &node)
{
    PoolPointer pool;
    Machine machine;
    if (!beginFault(node, pool, machine))
        return fail(ErrorCode::NotFound, "no node named '" + node + "' that is up");
    m_heartbeats.remove(node);
    tell(m_options.listeners.onGone, node);
    m_faults.start([this, pool, node](const CancelToken &cancel) {
        awaitLost(node, cancel);
        if (pauseFor(m_options.repairTime, cancel))
            repair(pool, node, cancel);
    });
    return {};
}

/// Until the node lifecycle controller has noticed (or is not there to).
void NodePools::Private::awaitLost(const std::string &node, const CancelToken &cancel)
{
    const Deadline deadline = Deadline::after(seconds(180));
    while (!deadline.hasPassed()) {
        const Result<std::string> readiness = m_writer.readiness(node, cancel);
        if ((readiness && *readiness != "True") || !pauseFor(seconds(1), cancel, deadline))
            return;
    }
}

/// The machine is made anew; of a slice, all its machines.
void NodePools::Private::repair(const PoolPointer &pool, const std::string &node, const CancelToken &cancel)
{
    const std::lock_guard change(pool->change);
    std::vector<Machine> machines;
    bool isSlice = false;
    {
        const std::lock_guard lock(m_mutex);
        if (!pool->machines.contains(node))
            return; // the pool was deleted or shrunk meanwhile
        isSlice = pool->spec.isMultiHost;
    }
    for (const Machine &machine : machinesOf(*pool)) {
        if (isSlice || machine.identity.name == node)
            machines.push_back(machine);
    }
    for (const Machine &machine : machines)
        say(machine, false, "DeletingNode",
            "Deleting node " + machine.identity.name + " because it does not exist in the cloud provider",
            "cloud-node-lifecycle-controller", cancel);
    retire(*pool, machines, false, cancel);
    // A failed try gives its addresses back: each one starts from the slots.
    for (seconds wait{2}; !cancel.stop_requested(); wait = std::min(wait * 2, longestRepairWait)) {
        for (Machine &machine : machines)
            machine = newMachine(*pool, machine.slot);
        if (bring(*pool, machines, cancel) || !pauseFor(wait, cancel))
            return;
    }
}

Status NodePools::Private::preempt(const std::string &node, seconds grace)
{
    PoolPointer pool;
    Machine machine;
    if (!beginFault(node, pool, machine))
        return fail(ErrorCode::NotFound, "no node named '" + node + "' that is up");
    m_faults.start([this, pool, machine, grace](const CancelToken &cancel) {
        shutDown(machine, grace, cancel);
        repair(pool, machine.identity.name, cancel);
    });
    return {};
}

/// Graceful node shutdown, as kubelet does it.
void NodePools::Private::shutDown(const Machine &machine, seconds grace, const CancelToken &cancel)
{
    const std::string &node = machine.identity.name;
    (void)m_writer.changeTaints(node, {impendingTermination}, {}, cancel);
    say(machine, false, "Shutdown", "Shutdown manager detected shutdown event", "kubelet", cancel);
    (void)m_writer.setCondition(node, readyCondition(false, "node is shutting down", unixTimeNow()), cancel);
    sayStatus(machine, "NodeNotReady", cancel);
    if (m_options.listeners.onShutdown)
        m_options.listeners.onShutdown(node, grace);
    awaitShutdown(node, grace, cancel);
}

void NodePools::Private::awaitShutdown(const std::string &node, seconds grace, const CancelToken &cancel)
{
    const Deadline deadline = Deadline::after(grace);
    while (!deadline.hasPassed() && !m_writer.isEmpty(node, cancel).value_or(false)) {
        if (!pauseFor(milliseconds(500), cancel, deadline))
            return;
    }
}

Status NodePools::Private::announceMaintenance(const std::string &node, seconds startsIn, seconds duration)
{
    PoolPointer pool;
    Machine machine;
    if (!beginFault(node, pool, machine))
        return fail(ErrorCode::NotFound, "no node named '" + node + "' that is up");
    const auto begin = unixTimeNow() + startsIn;
    const Status labelled = m_writer.setLabels(node, {{scheduledLabel, std::to_string(begin.count())}}, {});
    if (!labelled) {
        endFault(pool, node);
        return labelled;
    }
    m_faults.start([this, pool, machine, startsIn, duration](const CancelToken &cancel) {
        maintain(pool, machine, startsIn, duration, cancel);
    });
    return {};
}

/// Until it is due, or the user asks for it by the label.
void NodePools::Private::awaitMaintenance(const std::string &node, seconds startsIn,
                                          const CancelToken &cancel)
{
    const Deadline due = Deadline::after(startsIn);
    while (!due.hasPassed() && m_writer.labelOf(node, performLabel, cancel) != "true") {
        if (!pauseFor(seconds(1), cancel, due))
            return;
    }
}

void NodePools::Private::maintain(const PoolPointer &pool, const Machine &machine, seconds startsIn,
                                  seconds duration, const CancelToken &cancel)
{
    const std::string &node = machine.identity.name;
    awaitMaintenance(node, startsIn, cancel);
    if (cancel.stop_requested())
        return;
    (void)m_writer.setLabels(node, {{activeLabel, "ONGOING"}}, cancel);
    (void)m_writer.changeTaints(node, {maintenanceStarted}, {}, cancel);
    say(machine, true, "HostMaintenance", "Host maintenance of the node's VM has begun", "gke-node-monitor",
        cancel);
    shutDown(machine, duration, cancel);
    tell(m_options.listeners.onGone, node);
    // As the cloud's node lifecycle controller marks a stopped VM.
    (void)m_writer.changeTaints(node, {stopped}, {}, cancel);
    if (!pauseFor(duration, cancel))
        return;
    // The same VM boots again: the Node object stays.
    (void)m_writer.setLabels(
        node, {{scheduledLabel, std::nullopt}, {activeLabel, std::nullopt}, {performLabel, std::nullopt}},
        cancel);
    (void)m_writer.changeTaints(node, {}, {impendingTermination, maintenanceStarted, stopped}, cancel);
    say(machine, false, "Starting", "Starting kubelet.", "kubelet", cancel);
    (void)m_writer.setCondition(node, readyCondition(true, {}, unixTimeNow()), cancel);
    sayStatus(machine, "NodeReady", cancel);
    endFault(pool, node);
    tell(m_options.listeners.onAdded, node);
}

Status NodePools::Private::setDiskPressure(const std::string &node, bool isFull)
{
    const PoolPointer pool = poolOf(node);
    if (!pool)
        return fail(ErrorCode::NotFound, "no node named '" + node + "'");
    Machine machine;
    machine.identity.name = node;
    const CancelToken cancel = m_cancel.get_token();
    if (isFull)
        say(machine, true, "EvictionThresholdMet", "Attempting to reclaim ephemeral-storage", "kubelet",
            cancel);
    sayStatus(machine, isFull ? "NodeHasDiskPressure" : "NodeHasNoDiskPressure", cancel);
    return m_writer.setCondition(node, diskCondition(isFull, unixTimeNow()), cancel);
}

/// Kubelet's words for a condition that has changed.
void NodePools::Private::sayStatus(const Machine &machine, const char *status, const CancelToken &cancel)
{
    say(machine, false, status, "Node " + machine.identity.name + " status is now: " + status, "kubelet",
        cancel);
}

void NodePools::Private::say(const Machine &machine, bool isWarning, const char *reason,
                             const std::string &message, const char *component, const CancelToken &cancel)
{
    EventText event;
    event.kind = "Node";
    event.name = machine.identity.name;
    event.uid = machine.identity.name; // kubelet's own events have the name here, and kubectl looks for both
    event.isWarning = isWarning;
    event.reason = reason;
    event.message = message;
    event.component = component;
    m_events.write(event, cancel);
}

} // namespace cluster::local
