#pragma once

#include "cluster/local/nodeagent/pod_spec.h"

#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

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
    std::string message; ///< kubelet's words for the failure
};

/// Runs a command in the container for a probe or a hook: its exit code and output.
using RunInContainer = std::function<void(const std::vector<std::string> &command,
                                          std::function<void(int exitCode, std::string output)>)>;

struct ProbeTarget
{
    std::string podIp; ///< for messages
    std::string address; ///< where it really is: 127.a.b.c
    std::vector<std::pair<std::string, int>> ports; ///< the container's, for names
    RunInContainer run;
};

/// Carries one probe or hook out. `done` is called once, on the io_context; never after the returned handle
/// has gone. HTTPS certificates aren't checked, as kubelet doesn't; gRPC is only seen to listen.
std::shared_ptr<void> runProbe(boost::asio::io_context &io, const ProbeAction &action,
                               const ProbeTarget &target, std::chrono::milliseconds timeout,
                               std::function<void(ProbeResult)> done);

} // namespace cluster::local
