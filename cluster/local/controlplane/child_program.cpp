#include "cluster/local/controlplane/child_program.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <utility>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cluster::local {
namespace {

std::vector<char *> pointersTo(std::vector<std::string> &texts)
{
    std::vector<char *> pointers;
    pointers.reserve(texts.size() + 1);
    for (auto &text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

struct Pipe
{
    std::array<int, 2> ends{-1, -1};

    Pipe() = default;
    Pipe(const Pipe &) = delete;
    Pipe &operator=(const Pipe &) = delete;
    ~Pipe()
    {
        closeEnd(0);
        closeEnd(1);
    }
    bool open() { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }
    int take(std::size_t end) { return std::exchange(ends[end], -1); }
    void closeEnd(std::size_t end)
    {
        if (const int handle = take(end); handle >= 0)
            ::close(handle);
    }
};

/// Between fork and exec only what is safe there. `status` gets errno if the program cannot be run.
[[noreturn]] void becomeProgram(char *const *arguments, char *const *environment, const char *folder,
                                int output, int status, pid_t parent)
{
    ::setpgid(0, 0); // Ctrl-C is for us to deal with
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(127); // the parent ended before the line above
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    const int null = ::open("/dev/null", O_RDONLY);
    if (null >= 0 && ::dup2(null, 0) == 0 && ::dup2(output, 1) == 1 && ::dup2(output, 2) == 2
        && ::chdir(folder) == 0) {
        ::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
        ::execve(arguments[0], arguments, environment);
    }
    const int error = errno;
    [[maybe_unused]] const auto written = ::write(status, &error, sizeof error);
    ::_exit(127);
}

/// 0 if the program runs now, else its errno.
int startupError(int status)
{
    int error = 0;
    ssize_t got = 0;
    do {
        got = ::read(status, &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    return got > 0 ? error : 0;
}

tl::unexpected<Error> cannotStart(const ChildProgram &program, int error)
{
    const ErrorCode code = error == ENOENT || error == ENOTDIR  ? ErrorCode::NotFound
        : error == EACCES || error == EPERM || error == ENOEXEC ? ErrorCode::PermissionDenied
                                                                : ErrorCode::ResourceExhausted;
    return fail(code,
                "cannot start " + program.name + " (" + program.arguments.front()
                    + "): " + std::strerror(error));
}

} // namespace

Result<RunningChild> startChild(const ChildProgram &program)
{
    Pipe output;
    Pipe status;
    if (!output.open() || !status.open())
        return cannotStart(program, errno);
    auto arguments = program.arguments;
    auto environment = program.environment;
    const auto argumentPointers = pointersTo(arguments);
    const auto environmentPointers = pointersTo(environment);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0)
        return cannotStart(program, errno);
    if (pid == 0)
        becomeProgram(argumentPointers.data(), environmentPointers.data(), program.workingFolder.c_str(),
                      output.ends[1], status.ends[1], parent);
    status.closeEnd(1);
    int error = startupError(status.ends[0]);
    const int pidFd = error == 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1;
    if (pidFd < 0) {
        error = error == 0 ? errno : error;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        return cannotStart(program, error);
    }
    ::fcntl(output.ends[0], F_SETFL, O_NONBLOCK);
    return RunningChild{pid, pidFd, output.take(0)};
}

std::string describeExit(int waitStatus)
{
    if (WIFSIGNALED(waitStatus)) {
        const int signal = WTERMSIG(waitStatus);
        const char *name = ::sigdescr_np(signal);
        return "signal " + std::to_string(signal) + " (" + (name != nullptr ? name : "unknown") + ")";
    }
    return "exit code " + std::to_string(WEXITSTATUS(waitStatus));
}

} // namespace cluster::local
