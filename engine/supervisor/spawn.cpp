#include "engine/supervisor/spawn.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace engine {
namespace {

using cluster::ErrorCode;

constexpr int channelInChild = 3;

std::vector<std::string> mergedEnvironment(const std::vector<std::string> &changes)
{
    std::vector<std::string> merged = changes;
    for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view own(*entry);
        const auto name = own.substr(0, own.find('=') + 1);
        const bool replaced = std::any_of(changes.begin(), changes.end(), [name](const std::string &change) {
            return change.starts_with(name);
        });
        if (!replaced)
            merged.emplace_back(own);
    }
    return merged;
}

std::vector<char *> pointersTo(std::vector<std::string> &texts)
{
    std::vector<char *> pointers;
    pointers.reserve(texts.size() + 1);
    for (auto &text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// Descriptors that are closed unless they were taken.
class Descriptors
{
public:
    std::array<int, 2> channel{-1, -1};
    std::array<int, 2> output{-1, -1};
    std::array<int, 2> status{-1, -1}; ///< The child writes errno here if exec fails; closed by a good exec.

    Descriptors() = default;
    Descriptors(const Descriptors &) = delete;
    Descriptors &operator=(const Descriptors &) = delete;

    ~Descriptors()
    {
        for (const int fd : {channel[0], channel[1], output[0], output[1], status[0], status[1]}) {
            if (fd >= 0)
                ::close(fd);
        }
    }

    bool open()
    {
        return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel.data()) == 0
            && ::pipe2(output.data(), O_CLOEXEC) == 0 && ::pipe2(status.data(), O_CLOEXEC) == 0;
    }

    static int take(int &fd) { return std::exchange(fd, -1); }
};

/// After fork: only calls that are safe between fork and exec of a process with several threads.
[[noreturn]] void becomeProgram(const char *path, char *const *arguments, char *const *environment,
                                Descriptors &fds, pid_t parent)
{
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(127); // the parent ended before the line above
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    // All numbers are moved above the ones they are to replace first, since they may overlap.
    const int channel = ::fcntl(fds.channel[1], F_DUPFD_CLOEXEC, 10);
    const int output = ::fcntl(fds.output[1], F_DUPFD_CLOEXEC, 10);
    const int status = ::fcntl(fds.status[1], F_DUPFD_CLOEXEC, 10);
    const int null = ::open("/dev/null", O_RDONLY);
    if (channel >= 0 && output >= 0 && status >= 0 && ::dup2(null, 0) == 0 && ::dup2(output, 1) == 1
        && ::dup2(output, 2) == 2 && ::dup2(channel, channelInChild) == channelInChild) {
        ::close_range(channelInChild + 1, static_cast<unsigned>(status) - 1, 0);
        ::close_range(static_cast<unsigned>(status) + 1, ~0U, 0);
        ::execve(path, arguments, environment);
    }
    const int error = errno;
    [[maybe_unused]] const auto written = ::write(status, &error, sizeof error);
    ::_exit(127);
}

ErrorCode codeOf(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return ErrorCode::NotFound;
    case EACCES:
    case EPERM:
    case ENOEXEC:
        return ErrorCode::PermissionDenied;
    default:
        return ErrorCode::ResourceExhausted;
    }
}

tl::unexpected<cluster::Error> cannotStart(const ChildProgram &program, int error)
{
    return cluster::fail(codeOf(error), "cannot start '" + program.path + "': " + std::strerror(error));
}

} // namespace

ChildProgram ownProgram(std::vector<std::string> arguments)
{
    return {"/proc/self/exe", std::move(arguments), {}};
}

cluster::Result<SpawnedChild> spawnChild(const ChildProgram &program)
{
    Descriptors fds;
    if (!fds.open())
        return cannotStart(program, errno);
    std::vector<std::string> arguments{program.path};
    arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
    auto environment = mergedEnvironment(program.environment);
    const auto argumentPointers = pointersTo(arguments);
    const auto environmentPointers = pointersTo(environment);

    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0)
        return cannotStart(program, errno);
    if (pid == 0)
        becomeProgram(program.path.c_str(), argumentPointers.data(), environmentPointers.data(), fds, parent);

    ::close(Descriptors::take(fds.status[1]));
    int error = 0;
    ssize_t got = 0;
    do {
        got = ::read(fds.status[0], &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    const int pidfd = got == 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1;
    if (pidfd < 0) {
        const int reason = got == 0 ? errno : (got > 0 ? error : EIO);
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        return cannotStart(program, reason);
    }
    return SpawnedChild{pid, pidfd, Descriptors::take(fds.channel[0]), Descriptors::take(fds.output[0])};
}

} // namespace engine
