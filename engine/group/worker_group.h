#pragma once

#include "engine/supervisor/runner_backend.h"
#include <string>
#include <vector>

namespace engine {

struct WorkerGroupOptions
{
    std::vector<std::string> workers; ///< host:port, in the order of their stages.
    std::string token;
    std::string build; ///< Workers must be of the same one.
    std::chrono::milliseconds formDeadline{
        30'000}; ///< For all workers to be there, each time the group forms.
    std::chrono::milliseconds heartbeatDeadline{5'000}; ///< A worker silent for so long is lost.
};

/// The workers that a runner computes with. Forms the group before each start of the runner and gives it
/// loopback ports that lead to the workers; when a worker is lost, says so at once. Errors of prepare:
/// Unauthenticated, FailedPrecondition (another build), NotFound, DeadlineExceeded (a worker never
///                    listened or stayed busy); the message names the worker.
class WorkerGroup final : public RunnerSurroundings
{
public:
    WorkerGroup(boost::asio::io_context &context, WorkerGroupOptions options);
    ~WorkerGroup() override;
    WorkerGroup(const WorkerGroup &) = delete;
    WorkerGroup &operator=(const WorkerGroup &) = delete;

    /// A worker of the group in use was lost: the runner must be ended (RunnerBackend::loseRunner).
    void onLost(std::function<void(const std::string &reason)> handler);

    void prepare(RunnerOptions options, Prepared prepared) override;
    void release() override;

private:
    struct State;
    std::shared_ptr<State> m_state;
};

} // namespace engine
