#include "cluster/modelstore/run_program.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; // NOLINT: POSIX

namespace cluster {

namespace {

constexpr std::size_t keptOutputBytes = std::size_t{64} << 10;
constexpr int pollMilliseconds = 100;
constexpr std::chrono::seconds patience{2}; ///< between SIGTERM and SIGKILL

Result<pid_t> spawn(const std::vector<std::string> &arguments, int outputPipe)
{
    std::vector<char *> words;
    for (const std::string &argument : arguments)
        words.push_back(const_cast<char *>(argument.c_str())); // NOLINT: exec's old signature
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, outputPipe, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, outputPipe, STDERR_FILENO);
    // A process group of its own: a signal reaches what it starts too.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    pid_t pid = 0;
    const int number = posix_spawnp(&pid, words[0], &actions, &attributes, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (number != 0)
        return fail(ErrorCode::NotFound,
                    "can't start '" + arguments[0] + "' (" + std::strerror(number) + ")");
    return pid;
}

/// Reads until every writer has closed the pipe. False when cancelled.
bool readAll(int pipe, std::string &output, const CancelToken &cancel)
{
    std::array<char, 4096> buffer{};
    while (!cancel.stop_requested()) {
        pollfd item{pipe, POLLIN, 0};
        if (::poll(&item, 1, pollMilliseconds) <= 0)
            continue;
        const ssize_t count = ::read(pipe, buffer.data(), buffer.size());
        if (count <= 0)
            return true;
        output.append(buffer.data(), static_cast<std::size_t>(count));
        if (output.size() > keptOutputBytes)
            output.erase(0, output.size() - keptOutputBytes);
    }
    return false;
}

int waitForEnd(pid_t pid)
{
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void end(pid_t pid)
{
    ::kill(-pid, SIGTERM);
    const auto limit = std::chrono::steady_clock::now() + patience;
    int status = 0;
    while (std::chrono::steady_clock::now() < limit) {
        if (::waitpid(pid, &status, WNOHANG) != 0)
            return;
        ::poll(nullptr, 0, pollMilliseconds / 5);
    }
    ::kill(-pid, SIGKILL);
    waitForEnd(pid);
}

} // namespace

Result<ProgramOutcome> runProgram(const std::vector<std::string> &arguments, const CancelToken &cancel)
{
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
        return fail(ErrorCode::ResourceExhausted, std::string("can't make a pipe: ") + std::strerror(errno));
    const Result<pid_t> pid = spawn(arguments, pipe[1]);
    ::close(pipe[1]);
    ProgramOutcome outcome;
    const bool isComplete = pid && readAll(pipe[0], outcome.output, cancel);
    ::close(pipe[0]);
    if (!pid)
        return tl::unexpected(pid.error());
    if (!isComplete) {
        end(*pid);
        return fail(ErrorCode::Cancelled, "stopped '" + arguments[0] + "'");
    }
    outcome.exitStatus = waitForEnd(*pid);
    return outcome;
}

} // namespace cluster
