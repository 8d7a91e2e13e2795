#pragma once

#include "cluster/local/nodeagent/pod_spec.h"

#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

class WorkPool;

/// Counts a probe's results to its verdict. No clock, no network.
class ProbeTally
{
public:
    /// \param initial  What holds before the first verdict.
    ProbeTally(const ProbeSpec &probe, bool initial) : m_probe(probe), m_verdict(initial) {}

    /// True where the verdict is reached anew or changed by this result.
    bool add(bool isSuccess);
    [[nodiscard]] bool verdict() const { return m_verdict; }

private:
    const ProbeSpec &m_probe;
    bool m_verdict;
    bool m_last = false;
    int m_run = 0; ///< equal results in a row
};

struct ProbeResult
{
    bool isSuccess = false;
    std::string message; ///< kubelet's words for the failure or the warning
    bool isTimeout = false; ///< the failure is that it took too long
    bool isUnknown = false; ///< it could not be carried out: no result at all
    bool isWarning = false; ///< a success with something to say
};

/// How a command for a probe or a hook ended.
struct CommandEnd
{
    int exitCode = 0;
    std::string output;
    std::string startError; ///< not empty: it never ran
};

using RunInContainer = std::function<void(const std::vector<std::string> &command,
                                          const std::function<void(const CommandEnd &)> &done)>;

struct ProbeTarget
{
    std::string podIp; ///< for messages
    std::string address; ///< where it really is: 127.a.b.c
    std::vector<std::pair<std::string, int>> ports; ///< the container's, for names
    RunInContainer run;
    WorkPool *blocking = nullptr; ///< for gRPC
    bool isHook = false; ///< any HTTP answer is a success
};

/// Carries one probe or hook out. `done` is called once, on the io_context; never after the returned handle
/// has gone. HTTPS certificates aren't checked, as kubelet doesn't.
std::shared_ptr<void> runProbe(boost::asio::io_context &io, const ProbeAction &action,
                               const ProbeTarget &target, std::chrono::milliseconds timeout,
                               std::function<void(ProbeResult)> done);

} // namespace cluster::local
