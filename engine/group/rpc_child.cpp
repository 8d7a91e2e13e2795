#include "engine/group/rpc_child.h"

#include "engine/supervisor/last_words.h"
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace engine {

namespace asio = boost::asio;
using boost::system::error_code;

struct RpcChild::State : std::enable_shared_from_this<RpcChild::State>
{
    State(asio::io_context &context, const SpawnedChild &child, Log theLog)
        : pid(child.pid), pidfd(child.pidfd), channel(child.channel), output(context, child.output),
          log(std::move(theLog))
    {
    }

    ~State()
    {
        ::close(pidfd);
        ::close(channel);
    }
    State(const State &) = delete;
    State &operator=(const State &) = delete;

    pid_t pid;
    int pidfd;
    int channel; ///< Not spoken on: the child sees its end when we are gone.
    asio::posix::stream_descriptor output;
    Log log;
    std::array<char, 4096> buffer{};
    std::string line;
    LastWords lastWords;

    void readOutput();
};

void RpcChild::State::readOutput()
{
    output.async_read_some(asio::buffer(buffer),
                           [self = shared_from_this()](const error_code &error, std::size_t size) {
                               if (error)
                                   return;
                               constexpr std::size_t longest = 8192;
                               for (const char byte : std::string_view(self->buffer.data(), size)) {
                                   if (byte != '\n' && self->line.size() < longest) {
                                       self->line.push_back(byte);
                                       continue;
                                   }
                                   self->lastWords.add(self->line);
                                   if (self->log && !self->line.empty())
                                       self->log(self->line);
                                   self->line.clear();
                               }
                               self->readOutput();
                           });
}

cluster::Result<std::unique_ptr<RpcChild>> RpcChild::start(asio::io_context &context,
                                                           const ChildProgram &program, Log log)
{
    const auto child = spawnChild(program);
    if (!child)
        return tl::unexpected(child.error());
    auto state = std::make_shared<State>(context, *child, std::move(log));
    state->readOutput();
    return std::unique_ptr<RpcChild>(new RpcChild(std::move(state)));
}

RpcChild::RpcChild(std::shared_ptr<State> state) : m_state(std::move(state)) {}

RpcChild::~RpcChild()
{
    m_state->log = nullptr;
    ::kill(m_state->pid, SIGKILL);
    ::waitpid(m_state->pid, nullptr, 0); // a killed process ends at once
    error_code ignored;
    m_state->output.close(ignored);
}

int RpcChild::pid() const
{
    return m_state->pid;
}

std::string RpcChild::trouble() const
{
    siginfo_t info{};
    // The state is only looked at: the destructor reaps.
    if (::waitid(P_PID, static_cast<id_t>(m_state->pid), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0)
        return "is gone";
    if (info.si_pid == 0)
        return {};
    if (info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED)
        return "is stopped";
    std::string what = info.si_code == CLD_EXITED ? "ended (exit code " + std::to_string(info.si_status)
                                                  : "died (signal " + std::to_string(info.si_status);
    if (const auto cause = m_state->lastWords.cause(); !cause.empty())
        what += ": " + cause;
    return what + ")";
}

cluster::Result<std::uint16_t> freeLoopbackPort()
{
    asio::io_context context;
    asio::ip::tcp::acceptor acceptor(context);
    error_code error;
    acceptor.open(asio::ip::tcp::v4(), error);
    if (!error)
        acceptor.bind({asio::ip::address_v4::loopback(), 0}, error);
    if (error)
        return cluster::fail(cluster::ErrorCode::Unavailable, "no free loopback port: " + error.message());
    return acceptor.local_endpoint(error).port();
}

} // namespace engine
