#include "shell_process.h"

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <csignal>
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace cluster;
using namespace cluster::local;

namespace {

struct Ends
{
    int ours = -1;
    int theirs = -1;
};

Ends makePipe(bool weWrite)
{
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return {};
    const Ends result = weWrite ? Ends{ends[1], ends[0]} : Ends{ends[0], ends[1]};
    ::fcntl(result.ours, F_SETFL, O_NONBLOCK);
    return result;
}

class ShellProcess : public ContainerProcess
{
public:
    ShellProcess(boost::asio::io_context &io, pid_t pid, std::array<int, 3> ours, int terminal)
        : m_pid(pid), m_ours(ours), m_terminal(terminal),
          m_pidFd(std::make_shared<boost::asio::posix::stream_descriptor>(
              io, static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))))
    {
    }
    ~ShellProcess() override
    {
        boost::system::error_code ignored;
        m_pidFd->close(ignored);
        for (const int descriptor : m_ours) {
            if (descriptor >= 0)
                ::close(descriptor);
        }
        if (m_terminal >= 0)
            ::close(m_terminal);
        if (*m_isReaped)
            return;
        ::kill(-m_pid, SIGKILL);
        ::waitpid(m_pid, nullptr, 0);
    }

    int takeStdin() override { return std::exchange(m_ours[0], -1); }
    int takeStdout() override { return std::exchange(m_ours[1], -1); }
    int takeStderr() override { return std::exchange(m_ours[2], -1); }

    void resize(std::uint16_t columns, std::uint16_t rows) override
    {
        winsize size{};
        size.ws_col = columns;
        size.ws_row = rows;
        if (m_terminal >= 0)
            ::ioctl(m_terminal, TIOCSWINSZ, &size);
    }

    void whenEnded(std::function<void(ProcessEnd)> handler) override
    {
        m_pidFd->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                            [pid = m_pid, isReaped = m_isReaped, kept = m_pidFd,
                             handler = std::move(handler)](const boost::system::error_code &error) {
                                if (error)
                                    return;
                                int status = 0;
                                ::waitpid(pid, &status, 0);
                                *isReaped = true;
                                const int code
                                    = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
                                handler({code, code == 127 ? "no such program" : ""});
                            });
    }

private:
    pid_t m_pid;
    std::array<int, 3> m_ours;
    int m_terminal;
    std::shared_ptr<bool> m_isReaped = std::make_shared<bool>(false);
    std::shared_ptr<boost::asio::posix::stream_descriptor> m_pidFd;
};

[[noreturn]] void become(const std::vector<std::string> &command, const std::array<int, 3> &theirs, bool tty)
{
    ::setsid();
    if (tty)
        ::ioctl(theirs[0], TIOCSCTTY, 0);
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; ++i) {
        const int source = theirs[static_cast<std::size_t>(i)];
        ::dup2(source >= 0 ? source : nothing, i);
    }
    ::signal(SIGPIPE, SIG_DFL);
    std::vector<char *> arguments;
    for (const std::string &argument : command)
        arguments.push_back(const_cast<char *>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
}

} // namespace

Result<std::unique_ptr<ContainerProcess>> startShellProcess(boost::asio::io_context &io,
                                                            const ExecOptions &options)
{
    std::array<int, 3> ours{-1, -1, -1};
    std::array<int, 3> theirs{-1, -1, -1};
    int terminal = -1;
    if (options.tty) {
        int slave = -1;
        if (::openpty(&terminal, &slave, nullptr, nullptr, nullptr) != 0)
            return fail(ErrorCode::Internal, "openpty failed");
        ::fcntl(terminal, F_SETFD, FD_CLOEXEC);
        ::fcntl(terminal, F_SETFL, O_NONBLOCK);
        theirs = {slave, slave, slave};
        ours[0] = options.hasStdin ? ::fcntl(terminal, F_DUPFD_CLOEXEC, 0) : -1;
        ours[1] = ::fcntl(terminal, F_DUPFD_CLOEXEC, 0);
    } else {
        const std::array wanted{options.hasStdin, options.hasStdout, options.hasStderr};
        for (std::size_t i = 0; i < 3; ++i) {
            const Ends ends = wanted[i] ? makePipe(i == 0) : Ends{};
            ours[i] = ends.ours;
            theirs[i] = ends.theirs;
        }
    }
    const std::vector<std::string> attached{"/bin/sh", "-c", "echo attached; exec cat"};
    const pid_t pid = ::fork();
    if (pid == 0)
        become(options.command.empty() ? attached : options.command, theirs, options.tty);
    for (std::size_t i = 0; i < (options.tty ? 1U : 3U); ++i) {
        if (theirs[i] >= 0)
            ::close(theirs[i]);
    }
    return std::make_unique<ShellProcess>(io, pid, ours, terminal);
}
