#include "app/slipwayctl/daemon_process.h"

#include "app/slipwayctl/local_engine.h"
#include "cluster/local/daemon/daemon_client.h"
#include "cluster/local/files/whole_files.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace slipwayctl {

using cluster::ErrorCode;
using cluster::Result;
using cluster::Status;
using cluster::local::DaemonClient;
using cluster::local::DaemonLock;
using cluster::local::DaemonState;
using cluster::local::LocalPaths;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds pause{20};
constexpr std::chrono::seconds startLimit{30};
constexpr std::chrono::seconds stopLimit{60}; ///< pods have their grace periods, etcd its last write

/// Between fork and exec: only what is safe there.
[[noreturn]] void becomeDaemon(const std::vector<char *> &words, int log)
{
    ::setsid(); // not the terminal's: it stays when the terminal goes
    if (::chdir("/") != 0) // and keeps no folder of the user's busy
        ::_exit(1);
    ::signal(SIGPIPE, SIG_DFL);
    const int none = ::open("/dev/null", O_RDONLY);
    ::dup2(none, STDIN_FILENO);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execv(words[0], words.data());
    ::_exit(127);
}

Result<pid_t> spawn(std::vector<std::string> arguments, int log)
{
    std::vector<char *> words;
    for (std::string &argument : arguments)
        words.push_back(argument.data());
    words.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0)
        becomeDaemon(words, log);
    if (pid < 0)
        return cluster::fail(ErrorCode::ResourceExhausted,
                             std::string("can't start slipwayd: ") + std::strerror(errno));
    return pid;
}

/// The last line that was logged after `from` bytes.
std::string lastWords(const LocalPaths &paths, std::size_t from)
{
    const Result<std::string> log = cluster::local::readWholeFile(paths.daemonLog(), std::size_t{64} << 20);
    std::string text = log && log->size() > from ? log->substr(from) : "";
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text.empty() ? "it said nothing" : text.substr(text.rfind('\n') + 1);
}

bool answers(const LocalPaths &paths, pid_t pid, cluster::HttpClient &http)
{
    const auto state = cluster::local::readDaemonState(paths);
    if (!state || state->pid != pid)
        return false;
    const auto client = DaemonClient::find(http, paths);
    return client && client->ask("GET", "status");
}

} // namespace

bool isServing(const LocalPaths &paths, cluster::HttpClient &http)
{
    constexpr std::chrono::seconds patience{5}; // one that was killed lets go of the lock a moment later
    const auto limit = Clock::now() + patience;
    while (DaemonLock::isHeld(paths)) {
        const auto client = DaemonClient::find(http, paths);
        if (Clock::now() > limit || (client && client->ask("GET", "status")))
            return true;
        std::this_thread::sleep_for(pause);
    }
    return false;
}

Result<DaemonState> startDaemon(const std::string &programPath, const LocalPaths &paths,
                                std::vector<std::string> arguments, cluster::HttpClient &http,
                                const cluster::CancelToken &cancel)
{
    const Result<std::string> program = findProgram("slipwayd", programPath);
    if (!program)
        return tl::unexpected(program.error());
    const int log = ::open(paths.daemonLog().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0)
        return cluster::fail(ErrorCode::PermissionDenied,
                             "can't write " + paths.daemonLog().string() + ": " + std::strerror(errno));
    struct stat status = {};
    ::fstat(log, &status);
    arguments.insert(arguments.begin(), std::filesystem::absolute(*program).string()); // it leaves our folder
    const Result<pid_t> pid = spawn(std::move(arguments), log);
    ::close(log);
    if (!pid)
        return tl::unexpected(pid.error());
    const auto limit = Clock::now() + startLimit;
    while (!answers(paths, *pid, http)) {
        if (::waitpid(*pid, nullptr, WNOHANG) == *pid)
            return cluster::fail(ErrorCode::FailedPrecondition,
                                 "slipwayd ended before it was ready: "
                                     + lastWords(paths, static_cast<std::size_t>(status.st_size)));
        if (cancel.stop_requested() || Clock::now() > limit) {
            ::kill(*pid, SIGTERM);
            if (cancel.stop_requested())
                return cluster::fail(ErrorCode::Cancelled, "interrupted: slipwayd was told to end");
            return cluster::fail(ErrorCode::DeadlineExceeded,
                                 "slipwayd was not ready after 30 s: see " + paths.daemonLog().string());
        }
        std::this_thread::sleep_for(pause);
    }
    return *cluster::local::readDaemonState(paths);
}

Result<bool> stopDaemon(const LocalPaths &paths, cluster::HttpClient &http,
                        const cluster::CancelToken &cancel)
{
    if (!DaemonLock::isHeld(paths))
        return false;
    const int pid = DaemonLock::holder(paths);
    if (pid <= 1)
        return cluster::fail(ErrorCode::DataLoss,
                             "a local target runs in " + paths.root.string()
                                 + ", but its process number can't be read: end slipwayd by hand");
    const auto client = DaemonClient::find(http, paths);
    if (!client || !client->ask("POST", "stop", "{}"))
        ::kill(pid, SIGTERM); // it holds the lock, so this is its number
    const auto limit = Clock::now() + stopLimit;
    while (DaemonLock::isHeld(paths)) {
        if (cancel.stop_requested())
            return cluster::fail(ErrorCode::Cancelled, "interrupted while slipwayd was ending");
        if (Clock::now() > limit) {
            ::kill(pid, SIGKILL);
            return cluster::fail(ErrorCode::DeadlineExceeded,
                                 "slipwayd did not end within 60 s and was killed: see "
                                     + paths.daemonLog().string());
        }
        std::this_thread::sleep_for(pause);
    }
    return true;
}

} // namespace slipwayctl
