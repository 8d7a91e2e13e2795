#pragma once

#include "cluster/local/controlplane/child_program.h"
#include "cluster/local/controlplane/control_plane.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cluster::local {

/// How long to wait before a program that ended is started again: doubled each time, and short again after it
/// has run well for a while.
struct RestartBackoff
{
    std::chrono::milliseconds first{250};
    std::chrono::milliseconds longest{10000};
    std::chrono::milliseconds goodRun{30000};
};

/// The wait before the next start, from the one before (zero: none yet) and how long the program ran.
std::chrono::milliseconds nextWait(const RestartBackoff &policy, std::chrono::milliseconds last,
                                   std::chrono::milliseconds ran);

/// A program to keep running.
struct SupervisedProgram
{
    ChildProgram program;
    std::filesystem::path logFile;
    std::uint64_t maxLogBytes = std::uint64_t{8} << 20;
    std::chrono::milliseconds grace{5000}; ///< between SIGTERM and SIGKILL
};

/// Keeps programs running from a thread of its own, reads what they print into their logs, and tells each
/// event on that thread. All members may be called from any other thread.
class ProcessSupervisor
{
public:
    using EventHandler = std::function<void(const ProcessEvent &)>;

    explicit ProcessSupervisor(EventHandler onEvent, RestartBackoff policy = {});
    ~ProcessSupervisor(); ///< stops all
    ProcessSupervisor(const ProcessSupervisor &) = delete;
    ProcessSupervisor &operator=(const ProcessSupervisor &) = delete;

    /// Starts it and keeps it running. The error is that of the first start; it is not tried again then.
    Status add(SupervisedProgram program);

    /// Ends all, last added first, each after the other; returns when none is left.
    void stopAll();

    [[nodiscard]] std::vector<ProcessState> states() const;

    /// The line of its output that best says why it ended; empty: it printed nothing, or there is no such
    /// program.
    [[nodiscard]] std::string lastWordsOf(const std::string &name) const;

private:
    class Loop;
    std::unique_ptr<Loop> m_loop;
};

} // namespace cluster::local
