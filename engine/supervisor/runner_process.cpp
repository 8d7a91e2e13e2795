#include "engine/supervisor/runner_process.h"

#include "engine/supervisor/last_words.h"
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <csignal>
#include <deque>
#include <sys/wait.h>

namespace engine {

namespace asio = boost::asio;
using boost::system::error_code;

/// How long the rest of the messages and lines may take after the process is gone; the pipes are local and
/// full of what was already written, so only a stray holder of a descriptor makes this count.
constexpr std::chrono::milliseconds drainTime{500};

struct RunnerProcess::State : std::enable_shared_from_this<RunnerProcess::State>
{
    State(asio::io_context &context, const SpawnedChild &child, Handlers theHandlers)
        : pid(child.pid), channel(context, asio::local::stream_protocol(), child.channel),
          output(context, child.output), exit(context, child.pidfd), drain(context),
          handlers(std::move(theHandlers))
    {
    }

    pid_t pid;
    asio::local::stream_protocol::socket channel;
    asio::posix::stream_descriptor output;
    asio::posix::stream_descriptor exit;
    asio::steady_timer drain;
    Handlers handlers;

    FrameReader frames;
    std::array<char, 64 * 1024> channelBuffer{};
    std::array<char, 4096> outputBuffer{};
    std::string partialLine;
    LastWords lastWords;
    std::deque<std::string> toSend;
    std::string reason; ///< Why we killed it, if we did.
    int status = 0;
    bool reaped = false;
    bool channelOpen = true;
    bool outputOpen = true;
    bool told = false;

    void readChannel();
    void readOutput();
    void takeLines(std::string_view bytes);
    void takeFrames();
    void awaitExit();
    void writeNext();
    void kill(std::string why);
    void tellIfOver(bool drained);
};

void RunnerProcess::State::readChannel()
{
    channel.async_read_some(asio::buffer(channelBuffer),
                            [self = shared_from_this()](const error_code &error, std::size_t size) {
                                if (!error) {
                                    self->frames.append({self->channelBuffer.data(), size});
                                    self->takeFrames();
                                }
                                if (error) {
                                    self->channelOpen = false;
                                    self->tellIfOver(false);
                                } else if (self->channelOpen) {
                                    self->readChannel();
                                }
                            });
}

void RunnerProcess::State::takeFrames()
{
    while (!told && channelOpen) {
        auto body = frames.next();
        if (body && !*body)
            return;
        auto message = body ? decodeRunnerMessage(**body)
                            : cluster::Result<RunnerMessage>(tl::unexpected(body.error()));
        if (!message) {
            channelOpen = false;
            kill("it sent a " + message.error().message);
            return;
        }
        if (handlers.message)
            handlers.message(std::move(*message));
    }
}

void RunnerProcess::State::readOutput()
{
    output.async_read_some(asio::buffer(outputBuffer),
                           [self = shared_from_this()](const error_code &error, std::size_t size) {
                               if (error) {
                                   self->takeLines("\n");
                                   self->outputOpen = false;
                                   self->tellIfOver(false);
                                   return;
                               }
                               self->takeLines({self->outputBuffer.data(), size});
                               self->readOutput();
                           });
}

void RunnerProcess::State::takeLines(std::string_view bytes)
{
    constexpr std::size_t longest = 8192; // a line without an end must not grow for ever
    for (const char byte : bytes) {
        if (byte != '\n' && partialLine.size() < longest) {
            partialLine.push_back(byte);
            continue;
        }
        lastWords.add(partialLine);
        if (handlers.logLine && !partialLine.empty())
            handlers.logLine(partialLine);
        partialLine.clear();
    }
}

void RunnerProcess::State::awaitExit()
{
    exit.async_wait(asio::posix::descriptor_base::wait_read,
                    [self = shared_from_this()](const error_code &error) {
                        if (error || self->reaped)
                            return;
                        self->reaped = ::waitpid(self->pid, &self->status, 0) == self->pid;
                        self->drain.expires_after(drainTime);
                        self->drain.async_wait([self](const error_code &cancelled) {
                            if (!cancelled)
                                self->tellIfOver(true);
                        });
                        self->tellIfOver(false);
                    });
}

void RunnerProcess::State::writeNext()
{
    asio::async_write(channel, asio::buffer(toSend.front()),
                      [self = shared_from_this()](const error_code &error, std::size_t /*size*/) {
                          self->toSend.pop_front();
                          if (error) {
                              self->toSend.clear(); // the end of the process tells the rest
                              return;
                          }
                          if (!self->toSend.empty())
                              self->writeNext();
                      });
}

void RunnerProcess::State::kill(std::string why)
{
    if (reaped)
        return;
    if (reason.empty())
        reason = std::move(why);
    ::kill(pid, SIGKILL);
}

void RunnerProcess::State::tellIfOver(bool drained)
{
    if (told || !reaped || (!drained && (channelOpen || outputOpen)))
        return;
    told = true;
    drain.cancel();
    std::string how = reason.empty() ? describeExit(status) : reason;
    if (const auto cause = lastWords.cause(); !cause.empty() && reason.empty())
        how += ": " + cause;
    const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const auto ended = std::move(handlers.ended);
    handlers = {};
    if (ended)
        ended(how, clean);
}

cluster::Result<std::unique_ptr<RunnerProcess>>
RunnerProcess::start(asio::io_context &context, const ChildProgram &program, Handlers handlers)
{
    const auto child = spawnChild(program);
    if (!child)
        return tl::unexpected(child.error());
    auto state = std::make_shared<State>(context, *child, std::move(handlers));
    state->readChannel();
    state->readOutput();
    state->awaitExit();
    return std::unique_ptr<RunnerProcess>(new RunnerProcess(std::move(state)));
}

RunnerProcess::RunnerProcess(std::shared_ptr<State> state) : m_state(std::move(state)) {}

RunnerProcess::~RunnerProcess()
{
    auto &state = *m_state;
    state.told = true;
    state.handlers = {};
    if (!state.reaped) {
        ::kill(state.pid, SIGKILL);
        state.reaped = ::waitpid(state.pid, nullptr, 0) == state.pid; // a killed process ends at once
    }
    error_code ignored;
    state.channel.close(ignored);
    state.output.close(ignored);
    state.exit.close(ignored);
    state.drain.cancel();
}

int RunnerProcess::pid() const
{
    return m_state->pid;
}

cluster::Status RunnerProcess::send(const FrontMessage &message)
{
    auto frame = encodeFrame(message);
    if (!frame)
        return tl::unexpected(frame.error());
    const bool idle = m_state->toSend.empty();
    m_state->toSend.push_back(std::move(*frame));
    if (idle)
        m_state->writeNext();
    return {};
}

void RunnerProcess::kill(std::string reason)
{
    m_state->kill(std::move(reason));
}

} // namespace engine
