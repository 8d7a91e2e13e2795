#pragma once

#include "cluster/base/result.h"
#include "cluster/local/nodeagent/init/launch_spec.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

enum class OutputStream { Out, Err };

struct LaunchEnd
{
    int exitCode = 0; ///< 128 + signal where a signal ended it
    int signal = 0;
    std::string startError; ///< not empty: it never ran
};

/// Called on the io_context's thread; each may be empty. onEnd comes once, last, after all output.
struct LaunchHandlers
{
    std::function<void(int pid)> onStarted; ///< pid: to join the container by, and to look it up in /proc
    std::function<void(OutputStream, std::string_view)> onOutput;
    std::function<void(const LaunchEnd &)> onEnd;
};

/// Where the three standard files go. Taken over in any case.
struct LaunchFiles
{
    int input = -1; ///< -1: /dev/null
    int output = -1, error = -1; ///< -1: a pipe that onOutput is fed from
    int terminal = -1; ///< our end of the terminal that the three are; onOutput is fed from it
};

/// One process started by slipway-pod-init, with all that it starts itself. Threads: the io_context's, which
/// must be the one that lives as long as the process shall: the kernel ends it with the thread that started
/// it.
class LaunchedProcess
{
public:
    /// Errors: Internal (no memory, too many processes or files).
    static Result<std::shared_ptr<LaunchedProcess>> launch(boost::asio::io_context &io,
                                                           const std::filesystem::path &initProgram,
                                                           LaunchSpec spec, LaunchFiles files,
                                                           LaunchHandlers handlers);
    virtual ~LaunchedProcess() = default;

    /// To the main process; not to what it started.
    virtual void signal(int number) = 0;
    /// Everything, at once.
    virtual void kill() = 0;
    [[nodiscard]] virtual bool hasEnded() const = 0;
    [[nodiscard]] virtual int pid() const = 0; ///< as onStarted told; 0 before
    /// onEnd and the others are not called any more; the process is killed.
    virtual void abandon() = 0;
};

/// What this machine allows an ordinary process, found out by trying once.
struct Isolation
{
    bool mounts = false;
    bool processes = false;
};
Isolation probeIsolation(const std::filesystem::path &initProgram, const std::filesystem::path &scratch);

} // namespace cluster::local
