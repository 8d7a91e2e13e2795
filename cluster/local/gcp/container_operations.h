#pragma once

#include "cluster/local/gcp/operation_work.h"

#include <condition_variable>
#include <memory>
#include <mutex>

namespace cluster::local {

/// Runs the container API's operations, each on a thread, until they are done.
class ContainerOperations
{
public:
    ContainerOperations(GcpContext &context, ContainerStore &store, ClusterHost &host);
    ~ContainerOperations(); ///< stop()

    /// A record with a new id, PENDING. `projectNumber` goes into its links.
    OperationRecord make(const std::string &type, const ClusterKey &cluster, const std::string &pool,
                         const std::string &projectNumber) const;
    /// Runs one that has been written with its cluster.
    void run(const OperationRecord &operation);
    /// Takes on those that a process before this one did not finish.
    void resume();
    /// Interrupts them, for the next process to take on; blocks until threads have ended.
    void stop();

private:
    class Threads;

    void execute(OperationRecord operation, bool isResumed);
    void attempt(OperationRecord &operation, ClusterRecord &cluster, bool isResumed);
    std::chrono::milliseconds plannedTime(const OperationRecord &operation, const ClusterRecord &cluster,
                                          bool isResumed);
    void stage(OperationRecord &operation, double done, std::string_view words);
    bool waitUntil(OperationRecord &operation, std::chrono::steady_clock::time_point start,
                   std::chrono::milliseconds planned);
    bool sleepUntil(std::chrono::steady_clock::time_point time);
    void finish(OperationRecord &operation, const WorkError *error,
                const std::optional<ClusterEndpoint> &endpoint);

    GcpContext &m_context;
    ContainerStore &m_store;
    OperationWork m_work;
    CancelSource m_stopping;
    std::mutex m_mutex;
    std::condition_variable m_stopped;
    std::unique_ptr<Threads> m_threads;
};

} // namespace cluster::local
