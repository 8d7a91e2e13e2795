#pragma once

#include "cluster/local/gcp/cluster_host.h"
#include "cluster/local/gcp/container_store.h"
#include "cluster/local/gcp/faults.h"

#include <map>
#include <mutex>
#include <string>

namespace cluster::local {

/// Hands the faults that nodes suffer (host-lost, maintenance, preemption, disk-full of a cluster) to who
/// plays the nodes, and takes them back when they are removed. Each is handed on once, over restarts too (it
/// counts as struck then); those with `times` are gone after that.
class HostFaults
{
public:
    HostFaults(Faults &faults, ContainerStore &store, ClusterHost &host)
        : m_faults(faults), m_store(store), m_host(host)
    {
    }

    /// Compares what is on order with what was handed on. Blocks while the host applies it. False: something
    /// could not be handed on (a cluster that is starting, a host that is not there); try again later.
    bool synchronize();

private:
    enum class Outcome { NobodyMeant, Refused, Applied };
    Outcome apply(const Fault &fault, bool active);

    Faults &m_faults;
    ContainerStore &m_store;
    ClusterHost &m_host;
    std::mutex m_mutex;
    std::map<std::string, Fault> m_applied; ///< by id
};

} // namespace cluster::local
