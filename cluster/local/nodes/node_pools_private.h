#pragma once

#include "cluster/kube/informer.h"
#include "cluster/local/nodes/background_tasks.h"
#include "cluster/local/nodes/event_writer.h"
#include "cluster/local/nodes/network_devices.h"
#include "cluster/local/nodes/node_heartbeats.h"
#include "cluster/local/nodes/node_object.h"
#include "cluster/local/nodes/node_pools.h"
#include "cluster/local/nodes/node_writer.h"

#include <map>
#include <set>

namespace cluster::local {

class NodePools::Private
{
public:
    /// One machine of a pool.
    struct Machine
    {
        NodeIdentity identity;
        std::string uid; ///< of its Node object
        int slot = 0; ///< in the pool, from 0: gives the name
        int number = 0; ///< in the cluster: gives the addresses
        bool isDown = false; ///< a fault is on its way through it
    };

    struct Pool
    {
        PoolSpec spec;
        std::map<std::string, Machine> machines; ///< by name
        std::mutex change; ///< held while nodes come and go
    };
    using PoolPointer = std::shared_ptr<Pool>;

    Private(KubeClient &client, NodePoolsOptions options);

    Status start(std::vector<PoolSpec> pools);
    void stop();

    Status check(const PoolSpec &pool) const;
    Status put(const PoolSpec &pool, bool mayBeNew, const CancelToken &cancel);
    Status remove(const std::string &pool, const CancelToken &cancel);

    Status loseHost(const std::string &node);
    Status announceMaintenance(const std::string &node, std::chrono::seconds startsIn,
                               std::chrono::seconds duration);
    Status preempt(const std::string &node, std::chrono::seconds grace);
    Status setDiskPressure(const std::string &node, bool isFull);

    // All below with m_mutex not held.
    PoolPointer find(const std::string &pool) const;
    PoolPointer poolOf(const std::string &node) const;
    std::vector<PoolSpec> specs() const;
    std::vector<std::string> names(const std::string &pool) const;

private:
    // Pool by pool; Pool::change is held.
    Status fit(Pool &pool, const PoolSpec &wanted, const CancelToken &cancel);
    Status grow(Pool &pool, int count, const CancelToken &cancel);
    void shrink(Pool &pool, int count, const CancelToken &cancel);
    std::vector<Machine> choose(Pool &pool, int count, const CancelToken &cancel);
    Status relabel(Pool &pool, const PoolSpec &before, const CancelToken &cancel);
    Status bring(Pool &pool, std::vector<Machine> machines, const CancelToken &cancel);
    Status finishBoot(const std::vector<Machine> &machines, const CancelToken &cancel);
    void retire(Pool &pool, const std::vector<Machine> &machines, bool isDrained, const CancelToken &cancel);

    // start()
    Status adopt(const std::vector<nlohmann::json> &nodes);
    void watchNodes();
    void adoptInto(Pool &pool, const nlohmann::json &node, std::vector<std::string> &strays);

    // Faults
    bool beginFault(const std::string &node, PoolPointer &pool, Machine &machine);
    void endFault(const PoolPointer &pool, const std::string &node);
    void repair(const PoolPointer &pool, const std::string &node, const CancelToken &cancel);
    void awaitLost(const std::string &node, const CancelToken &cancel);
    void awaitShutdown(const std::string &node, std::chrono::seconds grace, const CancelToken &cancel);
    void shutDown(const Machine &machine, std::chrono::seconds grace, const CancelToken &cancel);
    void maintain(const PoolPointer &pool, const Machine &machine, std::chrono::seconds startsIn,
                  std::chrono::seconds duration, const CancelToken &cancel);
    void awaitMaintenance(const std::string &node, std::chrono::seconds startsIn, const CancelToken &cancel);
    void sayStatus(const Machine &machine, const char *status, const CancelToken &cancel);
    void say(const Machine &machine, bool isWarning, const char *reason, const std::string &message,
             const char *component, const CancelToken &cancel);

    std::vector<Machine> machinesOf(const Pool &pool) const;
    Machine newMachine(const Pool &pool, int slot);
    int takeNumber();
    MachineShape shapeOf(const PoolSpec &pool) const;
    static void tell(const std::function<void(const std::string &)> &listener, const std::string &node);

    KubeClient &m_client;
    const NodePoolsOptions m_options;
    NodeWriter m_writer;
    NetworkDevices m_devices;
    EventWriter m_events;
    CancelSource m_cancel;

    mutable std::mutex m_mutex; ///< guards all below, and each Pool's spec and machines
    std::map<std::string, PoolPointer> m_pools;
    std::set<int> m_numbers; ///< in use

    NodeHeartbeats m_heartbeats;
    std::unique_ptr<Informer> m_watch; ///< of the nodes, for those that are given up though they live
    BackgroundTasks m_faults; ///< last: they use all the others
};

/// Hosts of a slice: chips of the topology by chips of a host; 0 where that is no whole number.
int hostsOf(const PoolSpec &pool);

} // namespace cluster::local
