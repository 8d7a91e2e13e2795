#pragma once

#include "cluster/local/controlplane/process_supervisor.h"
#include "cluster/local/controlplane/rotated_log.h"

#include <chrono>
#include <poll.h>
#include <string>
#include <vector>

namespace cluster::local {

/// One program that is kept running, as a state machine that its supervisor's thread steps: running, waiting
/// for its next start, being stopped, ended.
class SupervisedProcess
{
public:
    using Clock = std::chrono::steady_clock;

    SupervisedProcess(SupervisedProgram program, RestartBackoff policy,
                      ProcessSupervisor::EventHandler onEvent);
    ~SupervisedProcess(); ///< kills what still runs
    SupervisedProcess(const SupervisedProcess &) = delete;
    SupervisedProcess &operator=(const SupervisedProcess &) = delete;

    Status start(Clock::time_point now);
    void stop(Clock::time_point now); ///< asks it to end; again: nothing new
    void step(Clock::time_point now); ///< reads output, notices the end, starts or kills when it is time

    void addWatched(std::vector<pollfd> &watched) const;
    [[nodiscard]] Clock::time_point nextStep() const; ///< when step() has something to do without any event
    [[nodiscard]] bool hasEnded() const { return m_isStopping && m_child.pid == 0; }
    [[nodiscard]] const std::string &name() const { return m_program.program.name; }
    [[nodiscard]] const std::string &output() const { return m_log.tail(); }
    [[nodiscard]] ProcessState state() const;

private:
    void readOutput();
    void noticeEnd(Clock::time_point now);
    void closeChild();
    void planRestart(Clock::time_point now, std::chrono::milliseconds ran);
    [[nodiscard]] ProcessEvent event(ProcessEvent::Kind kind, std::string message) const;

    SupervisedProgram m_program;
    RestartBackoff m_policy;
    ProcessSupervisor::EventHandler m_onEvent;
    RotatedLog m_log;
    RunningChild m_child; ///< pid 0: none
    Clock::time_point m_startedAt;
    Clock::time_point m_nextStart = Clock::time_point::max();
    Clock::time_point m_killAt = Clock::time_point::max();
    std::chrono::milliseconds m_lastWait{0};
    int m_restarts = 0;
    std::string m_lastExit;
    bool m_isStopping = false;
};

} // namespace cluster::local
