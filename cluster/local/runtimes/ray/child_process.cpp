#include "cluster/local/runtimes/ray/child_process.h"

#include "cluster/local/controlplane/child_program.h"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <sys/wait.h>

namespace cluster::local {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

class Child final : public RayChild, public std::enable_shared_from_this<Child>
{
public:
    Child(asio::io_context &io, RunningChild child, RayChildHandlers handlers)
        : m_pid(child.pid), m_end(io, child.pidFd), m_output(io, child.output), m_killer(io),
          m_handlers(std::move(handlers))
    {
    }
    ~Child() override
    {
        if (!m_isReaped) {
            ::kill(-m_pid, SIGKILL);
            ::waitpid(m_pid, nullptr, 0);
        }
    }
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

    void run()
    {
        read();
        m_end.async_wait(asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](error_code error) {
                             if (!error)
                                 self->reap();
                         });
    }

    void terminate() override
    {
        if (m_isReaped)
            return;
        ::kill(-m_pid, SIGTERM);
        m_killer.expires_after(std::chrono::seconds(5));
        m_killer.async_wait([self = shared_from_this()](error_code error) {
            if (!error && !self->m_isReaped)
                ::kill(-self->m_pid, SIGKILL);
        });
    }

    [[nodiscard]] int pid() const override { return m_pid; }

    void abandon() override
    {
        m_handlers = {};
        if (!m_isReaped)
            ::kill(-m_pid, SIGKILL);
    }

private:
    void read()
    {
        m_output.async_read_some(asio::buffer(m_buffer),
                                 [self = shared_from_this()](error_code error, std::size_t size) {
                                     if (size > 0 && self->m_handlers.onOutput)
                                         self->m_handlers.onOutput({self->m_buffer.data(), size});
                                     if (error) {
                                         self->m_isRead = true;
                                         self->finish();
                                         return;
                                     }
                                     self->read();
                                 });
    }

    void reap()
    {
        int status = 0;
        if (::waitpid(m_pid, &status, WNOHANG) != m_pid)
            return;
        m_isReaped = true;
        m_killer.cancel();
        m_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        ::kill(-m_pid, SIGKILL); // what it started and left: that would hold the output open
        finish();
    }

    void finish()
    {
        if (!m_isReaped || !m_isRead)
            return;
        if (const auto onEnd = std::exchange(m_handlers, {}).onEnd)
            onEnd(m_code);
    }

    int m_pid, m_code = 0;
    bool m_isReaped = false, m_isRead = false;
    asio::posix::stream_descriptor m_end, m_output;
    asio::steady_timer m_killer;
    RayChildHandlers m_handlers;
    std::array<char, 4096> m_buffer{};
};

} // namespace

Result<std::shared_ptr<RayChild>> RayChild::start(asio::io_context &io, std::vector<std::string> arguments,
                                                  std::vector<std::string> environment,
                                                  RayChildHandlers handlers)
{
    ChildProgram program;
    program.name = arguments.empty() ? "" : arguments.front();
    program.arguments = std::move(arguments);
    program.environment = std::move(environment);
    program.workingFolder = ".";
    const auto running = startChild(program);
    if (!running)
        return tl::unexpected(running.error());
    auto child = std::make_shared<Child>(io, *running, std::move(handlers));
    child->run();
    return child;
}

} // namespace cluster::local
