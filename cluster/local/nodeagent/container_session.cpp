#include "cluster/local/nodeagent/container_session.h"

#include "cluster/local/nodeagent/session_parts.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

namespace cluster::local {

namespace {

class ExecSession final : public ContainerProcess
{
public:
    ExecSession() : m_notice(std::make_shared<EndNotice>()) {}
    ~ExecSession() override
    {
        if (m_process)
            m_process->abandon();
        for (int *file : {&m_input, &m_output, &m_error, &m_terminal})
            closeFile(*file);
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
                closeFile(*file);
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
    void resize(std::uint16_t columns, std::uint16_t rows) override
    {
        setTerminalSize(m_terminal, columns, rows);
    }
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
                closeFile(*theirs);
                closeFile(*ours);
                *theirs = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
            }
        }
        return true;
    }

    std::shared_ptr<EndNotice> m_notice;
    std::shared_ptr<LaunchedProcess> m_process;
    int m_input = -1, m_output = -1, m_error = -1, m_terminal = -1;
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

} // namespace cluster::local
