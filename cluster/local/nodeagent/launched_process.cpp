#include "cluster/local/nodeagent/launched_process.h"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace cluster::local {

namespace asio = boost::asio;

namespace {

using Descriptor = asio::posix::stream_descriptor;

/// Closes what it holds.
class File
{
public:
    explicit File(int number = -1) : m_number(number) {}
    ~File() { reset(); }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    void reset(int number = -1)
    {
        if (m_number >= 0)
            ::close(m_number);
        m_number = number;
    }
    [[nodiscard]] int get() const { return m_number; }
    int release() { return std::exchange(m_number, -1); }
    /// Out of the way of the numbers that the child uses.
    void raise()
    {
        if (m_number >= 0 && m_number < 10)
            reset(::fcntl(m_number, F_DUPFD_CLOEXEC, 10));
    }

private:
    int m_number;
};

struct Pipe
{
    File read, write;
    bool make()
    {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0)
            return false;
        read.reset(ends[0]);
        write.reset(ends[1]);
        return true;
    }
};

tl::unexpected<Error> failed(const std::string &what, int number)
{
    return fail(ErrorCode::Internal, "can't " + what + ": " + std::strerror(number));
}

/// The spec as a file that only the child gets.
bool writeSpec(const LaunchSpec &spec, File &file)
{
    const std::string text = encodeLaunch(spec);
    file.reset(::memfd_create("slipway-launch", MFD_CLOEXEC));
    return file.get() >= 0
        && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())
        && ::lseek(file.get(), 0, SEEK_SET) == 0;
}

int spawn(const std::filesystem::path &program, const std::array<int, 5> &files, pid_t &pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 5; ++i)
        posix_spawn_file_actions_adddup2(&actions, files[static_cast<std::size_t>(i)], i);
    // Not all sockets of this process are close-on-exec.
    posix_spawn_file_actions_addclosefrom_np(&actions, 5);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::string name = program.filename().string();
    std::array<char *, 2> arguments{name.data(), nullptr};
    std::array<char *, 1> noVariables{nullptr};
    const int number
        = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), noVariables.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return number;
}

int openPidFile(pid_t pid)
{
    return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

class Launched final : public LaunchedProcess, public std::enable_shared_from_this<Launched>
{
public:
    Launched(asio::io_context &io, pid_t pid, LaunchHandlers handlers)
        : m_io(io), m_outer(pid), m_handlers(std::move(handlers)), m_timer(io)
    {
    }

    void watch(int status, int output, int error, int pidFile)
    {
        follow(m_status.emplace(m_io, status), [this](std::string_view text) {
            m_lines += text;
            takeLines();
        });
        if (output >= 0)
            follow(m_output.emplace(m_io, output),
                   [this](std::string_view text) { tell(OutputStream::Out, text); });
        if (error >= 0)
            follow(m_error.emplace(m_io, error),
                   [this](std::string_view text) { tell(OutputStream::Err, text); });
        m_pidFile.emplace(m_io, pidFile);
        ++m_open;
        m_pidFile->async_wait(Descriptor::wait_read, [self = shared_from_this()](boost::system::error_code) {
            ::waitpid(self->m_outer, nullptr, 0);
            self->m_outer = 0;
            self->m_pidFile->close();
            self->closed();
        });
    }

    void signal(int number) override
    {
        if (m_outer > 0)
            ::kill(m_outer, number);
    }

    void kill() override
    {
        if (m_outer <= 0)
            return;
        ::kill(m_outer, m_pid > 0 ? SIGUSR1 : SIGKILL);
        m_timer.expires_after(std::chrono::seconds(2));
        m_timer.async_wait([self = shared_from_this()](boost::system::error_code error) {
            if (!error && self->m_outer > 0)
                ::kill(self->m_outer, SIGKILL);
        });
    }

    [[nodiscard]] bool hasEnded() const override { return m_open == 0; }
    [[nodiscard]] int pid() const override { return m_pid; }

    void abandon() override
    {
        m_handlers = {};
        kill();
    }

private:
    template<typename Take>
    void follow(Descriptor &file, Take take)
    {
        ++m_open;
        file.non_blocking(true);
        readOn(file, std::move(take));
    }

    /// Waits before it reads, so that an idle container holds no buffer.
    template<typename Take>
    void readOn(Descriptor &file, Take take)
    {
        file.async_wait(
            Descriptor::wait_read, [self = shared_from_this(), &file, take](boost::system::error_code error) {
                std::array<char, 32768> buffer; // NOLINT: filled by read
                ssize_t size = error ? 0 : ::read(file.native_handle(), buffer.data(), buffer.size());
                if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
                    self->readOn(file, take);
                    return;
                }
                if (size > 0) {
                    take(std::string_view(buffer.data(), static_cast<std::size_t>(size)));
                    self->readOn(file, take);
                    return;
                }
                file.close(error);
                self->closed();
            });
    }

    void tell(OutputStream stream, std::string_view text)
    {
        if (m_handlers.onOutput)
            m_handlers.onOutput(stream, text);
    }

    void takeLines()
    {
        for (std::size_t end = m_lines.find('\n'); end != std::string::npos; end = m_lines.find('\n')) {
            const std::string line = m_lines.substr(0, end);
            m_lines.erase(0, end + 1);
            if (line.starts_with("started ")) {
                m_pid = std::atoi(line.c_str() + 8);
                if (m_handlers.onStarted)
                    m_handlers.onStarted(m_pid);
            } else if (line.starts_with("error ")) {
                m_end = LaunchEnd{128, 0, line.substr(6)};
            } else if (line.starts_with("exit ")) {
                char *rest = nullptr;
                const long code = std::strtol(line.c_str() + 5, &rest, 10);
                m_end = LaunchEnd{static_cast<int>(code), std::atoi(rest), {}};
            }
        }
    }

    void closed()
    {
        if (--m_open > 0)
            return;
        m_timer.cancel();
        // Silence means that the starter itself was killed.
        const LaunchEnd end = m_end.value_or(LaunchEnd{128 + SIGKILL, SIGKILL, {}});
        const LaunchHandlers handlers = std::exchange(m_handlers, {});
        if (handlers.onEnd)
            handlers.onEnd(end);
    }

    asio::io_context &m_io;
    pid_t m_outer;
    int m_pid = 0;
    int m_open = 0; ///< files that may still tell something
    LaunchHandlers m_handlers;
    asio::steady_timer m_timer;
    std::optional<Descriptor> m_status, m_output, m_error, m_pidFile;
    std::string m_lines;
    std::optional<LaunchEnd> m_end;
};

} // namespace

Result<std::shared_ptr<LaunchedProcess>> LaunchedProcess::launch(asio::io_context &io,
                                                                 const std::filesystem::path &initProgram,
                                                                 LaunchSpec spec, LaunchFiles files,
                                                                 LaunchHandlers handlers)
{
    File input(files.input), output(files.output), error(files.error), terminal(files.terminal), specFile;
    Pipe outputPipe, errorPipe, status;
    spec.parentPid = ::getpid();
    if (input.get() < 0)
        input.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!status.make() || !writeSpec(spec, specFile) || input.get() < 0)
        return failed("make the files of a container", errno);
    if (output.get() < 0) {
        if (!outputPipe.make())
            return failed("make a pipe", errno);
        output.reset(outputPipe.write.release());
    }
    if (error.get() < 0) {
        if (!errorPipe.make())
            return failed("make a pipe", errno);
        error.reset(errorPipe.write.release());
    }
    for (File *file : {&input, &output, &error, &specFile, &status.write})
        file->raise();
    pid_t pid = 0;
    const int number = spawn(
        initProgram, {input.get(), output.get(), error.get(), specFile.get(), status.write.get()}, pid);
    if (number != 0)
        return failed("start '" + initProgram.string() + "'", number);
    File pidFile(openPidFile(pid));
    if (pidFile.get() < 0) {
        const int reason = errno;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        return failed("watch a process", reason);
    }
    auto launched = std::make_shared<Launched>(io, pid, std::move(handlers));
    launched->watch(status.read.release(),
                    terminal.get() >= 0 ? terminal.release() : outputPipe.read.release(),
                    errorPipe.read.release(), pidFile.release());
    return launched;
}

Isolation probeIsolation(const std::filesystem::path &initProgram, const std::filesystem::path &scratch)
{
    const auto works = [&](bool mounts, bool processes) {
        asio::io_context io;
        std::error_code error;
        const auto root = scratch / "probe";
        std::filesystem::create_directories(root, error);
        LaunchSpec spec;
        spec.arguments = {"/bin/true"};
        spec.rootFolder = root.string();
        spec.ownMounts = mounts;
        spec.ownProcesses = processes;
        // A target that doesn't exist: what containers mostly need.
        if (mounts)
            spec.mounts.push_back({root.string(), "/slipway-probe", false});
        bool isFine = false;
        LaunchHandlers handlers;
        handlers.onEnd
            = [&isFine](const LaunchEnd &end) { isFine = end.startError.empty() && end.exitCode == 0; };
        const auto process = LaunchedProcess::launch(io, initProgram, spec, {}, handlers);
        if (process)
            io.run();
        return isFine;
    };
    if (works(true, true))
        return {true, true};
    return {works(true, false), works(false, true)};
}

} // namespace cluster::local
