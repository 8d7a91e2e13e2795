#include "cluster/local/nodeagent/container_session.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace cluster::local {

namespace {

void close(int &file)
{
    if (file >= 0)
        ::close(file);
    file = -1;
}

void setSize(int terminal, std::uint16_t columns, std::uint16_t rows)
{
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    if (terminal >= 0)
        ::ioctl(terminal, TIOCSWINSZ, &size);
}

/// The end of a process, told as soon as there is somebody to tell.
class EndNotice
{
public:
    void set(ProcessEnd end)
    {
        m_end = std::move(end);
        deliver();
    }
    void whenSet(std::function<void(ProcessEnd)> handler)
    {
        m_handler = std::move(handler);
        deliver();
    }

private:
    void deliver()
    {
        if (!m_end || !m_handler)
            return;
        const auto handler = std::exchange(m_handler, nullptr);
        handler(*m_end);
    }
    std::optional<ProcessEnd> m_end;
    std::function<void(ProcessEnd)> m_handler;
};

class ExecSession final : public ContainerProcess
{
public:
    ExecSession() : m_notice(std::make_shared<EndNotice>()) {}
    ~ExecSession() override
    {
        if (m_process)
            m_process->abandon();
        for (int *file : {&m_input, &m_output, &m_error, &m_terminal})
            close(*file);
    }
    ExecSession(const ExecSession &) = delete;
    ExecSession &operator=(const ExecSession &) = delete;

    Status start(boost::asio::io_context &io, const std::filesystem::path &initProgram, LaunchSpec launch,
                 const ExecOptions &options)
    {
        LaunchFiles files;
        const bool isOpen = options.tty ? openTerminal(files) : openPipes(options, files);
        if (!isOpen) {
            for (int *file : {&files.input, &files.output, &files.error})
                close(*file);
            return fail(ErrorCode::Internal,
                        std::string("can't make the files of a command: ") + std::strerror(errno));
        }
        launch.hasTerminal = options.tty;
        if (options.tty)
            launch.environment.emplace_back("TERM=xterm");
        LaunchHandlers handlers;
        handlers.onEnd = [notice = m_notice](const LaunchEnd &end) {
            notice->set({end.exitCode, end.startError});
        };
        auto process
            = LaunchedProcess::launch(io, initProgram, std::move(launch), files, std::move(handlers));
        if (!process)
            return tl::unexpected(process.error());
        m_process = *process;
        return {};
    }

    int takeStdin() override { return std::exchange(m_input, -1); }
    int takeStdout() override { return std::exchange(m_output, -1); }
    int takeStderr() override { return std::exchange(m_error, -1); }
    void resize(std::uint16_t columns, std::uint16_t rows) override { setSize(m_terminal, columns, rows); }
    void whenEnded(std::function<void(ProcessEnd)> handler) override
    {
        m_notice->whenSet(std::move(handler));
    }

private:
    bool openTerminal(LaunchFiles &files)
    {
        int slave = -1;
        if (::openpty(&m_terminal, &slave, nullptr, nullptr, nullptr) != 0)
            return false;
        ::fcntl(m_terminal, F_SETFD, FD_CLOEXEC);
        ::fcntl(slave, F_SETFD, FD_CLOEXEC);
        ::fcntl(m_terminal, F_SETFL, O_NONBLOCK);
        files.input = slave;
        files.output = ::fcntl(slave, F_DUPFD_CLOEXEC, 10);
        files.error = ::fcntl(slave, F_DUPFD_CLOEXEC, 10);
        m_input = ::fcntl(m_terminal, F_DUPFD_CLOEXEC, 3);
        m_output = ::fcntl(m_terminal, F_DUPFD_CLOEXEC, 3);
        return m_input >= 0 && m_output >= 0;
    }

    bool openPipes(const ExecOptions &options, LaunchFiles &files)
    {
        int ends[2];
        if (options.hasStdin) {
            if (::pipe2(ends, O_CLOEXEC) != 0)
                return false;
            files.input = ends[0];
            m_input = ends[1];
            ::fcntl(m_input, F_SETFL, O_NONBLOCK);
        }
        for (const auto &[wanted, theirs, ours] : {std::tuple(options.hasStdout, &files.output, &m_output),
                                                   std::tuple(options.hasStderr, &files.error, &m_error)}) {
            if (::pipe2(ends, O_CLOEXEC) != 0)
                return false;
            *theirs = ends[1];
            *ours = ends[0];
            ::fcntl(*ours, F_SETFL, O_NONBLOCK);
            if (!wanted) { // nobody reads: nothing may block
                close(*theirs);
                close(*ours);
                *theirs = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
            }
        }
        return true;
    }

    std::shared_ptr<EndNotice> m_notice;
    std::shared_ptr<LaunchedProcess> m_process;
    int m_input = -1, m_output = -1, m_error = -1, m_terminal = -1;
};

class AttachedPipes final : public AttachedOutput
{
public:
    ~AttachedPipes() override
    {
        for (auto &pipe : m_pipes) {
            close(pipe[0]);
            close(pipe[1]);
        }
    }
    AttachedPipes() = default;
    AttachedPipes(const AttachedPipes &) = delete;
    AttachedPipes &operator=(const AttachedPipes &) = delete;

    bool open(bool hasStdout, bool hasStderr)
    {
        const bool wanted[2] = {hasStdout, hasStderr};
        for (int i = 0; i < 2; ++i) {
            if (wanted[i] && ::pipe2(m_pipes[i], O_CLOEXEC | O_NONBLOCK) != 0)
                return false;
        }
        return true;
    }

    void write(OutputStream stream, std::string_view text) override
    {
        int &file = m_pipes[stream == OutputStream::Err ? 1 : 0][1];
        if (file >= 0 && ::write(file, text.data(), text.size()) < 0 && errno == EPIPE)
            close(file);
    }

    void end(int exitCode) override
    {
        close(m_pipes[0][1]);
        close(m_pipes[1][1]);
        m_notice.set({exitCode, {}});
    }

    int takeRead(OutputStream stream) override
    {
        return std::exchange(m_pipes[stream == OutputStream::Err ? 1 : 0][0], -1);
    }

    void whenEnded(std::function<void(ProcessEnd)> handler) override { m_notice.whenSet(std::move(handler)); }

private:
    int m_pipes[2][2] = {{-1, -1}, {-1, -1}};
    EndNotice m_notice;
};

class AttachSession final : public ContainerProcess
{
public:
    AttachSession(std::shared_ptr<AttachedOutput> output, int input, bool isTerminal)
        : m_output(std::move(output)), m_input(input)
    {
        if (isTerminal && input >= 0)
            m_terminal = ::fcntl(input, F_DUPFD_CLOEXEC, 3);
        if (input >= 0)
            ::fcntl(input, F_SETFL, ::fcntl(input, F_GETFL) | O_NONBLOCK);
    }
    ~AttachSession() override
    {
        close(m_input);
        close(m_terminal);
    }
    AttachSession(const AttachSession &) = delete;
    AttachSession &operator=(const AttachSession &) = delete;

    int takeStdin() override { return std::exchange(m_input, -1); }
    int takeStdout() override { return m_output->takeRead(OutputStream::Out); }
    int takeStderr() override { return m_output->takeRead(OutputStream::Err); }
    void resize(std::uint16_t columns, std::uint16_t rows) override { setSize(m_terminal, columns, rows); }
    void whenEnded(std::function<void(ProcessEnd)> handler) override
    {
        m_output->whenEnded(std::move(handler));
    }

private:
    std::shared_ptr<AttachedOutput> m_output;
    int m_input, m_terminal = -1;
};

} // namespace

Result<std::unique_ptr<ContainerProcess>> execSession(boost::asio::io_context &io,
                                                      const std::filesystem::path &initProgram,
                                                      LaunchSpec launch, const ExecOptions &options)
{
    auto session = std::make_unique<ExecSession>();
    if (auto started = session->start(io, initProgram, std::move(launch), options); !started)
        return tl::unexpected(started.error());
    return session;
}

std::shared_ptr<AttachedOutput> AttachedOutput::make(boost::asio::io_context &, bool hasStdout,
                                                     bool hasStderr)
{
    auto pipes = std::make_shared<AttachedPipes>();
    return pipes->open(hasStdout, hasStderr) ? pipes : nullptr;
}

std::unique_ptr<ContainerProcess> attachSession(std::shared_ptr<AttachedOutput> output, int input,
                                                bool isTerminal)
{
    return std::make_unique<AttachSession>(std::move(output), input, isTerminal);
}

} // namespace cluster::local
