#pragma once

#include "cluster/local/nodeagent/launched_process.h"
#include "cluster/local/nodeagent/pod_access.h"

#include <memory>
#include <string_view>

namespace cluster::local {

/// Starts a command beside a container's main process. `launch.joinPid` says which.
Result<std::unique_ptr<ContainerProcess>> execSession(boost::asio::io_context &io,
                                                      const std::filesystem::path &initProgram,
                                                      LaunchSpec launch, const ExecOptions &options);

/// What a container writes from now on, for one attached client. A client that lags by more than 4 MiB is
/// cut off and told so, rather than holding the container up.
class AttachedOutput
{
public:
    /// Null where the machine has no more files.
    static std::shared_ptr<AttachedOutput> make(boost::asio::io_context &io, bool hasStdout, bool hasStderr);
    virtual ~AttachedOutput() = default;

    virtual void write(OutputStream stream, std::string_view text) = 0;
    virtual void end(int exitCode) = 0;
    virtual int takeRead(OutputStream stream) = 0;
    virtual void whenEnded(std::function<void(ProcessEnd)> handler) = 0;
};

/// \param input  Taken over; -1: none.
std::unique_ptr<ContainerProcess> attachSession(std::shared_ptr<AttachedOutput> output, int input,
                                                bool isTerminal);

} // namespace cluster::local
