#include "cluster/local/nodeagent/container_session.h"
#include "cluster/local/nodeagent/session_parts.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>

// Clients that join a container's own input and output.
namespace cluster::local {

namespace asio = boost::asio;

namespace {

/// One of a client's pipes, with what did not fit into it yet.
class AttachedPipe : public std::enable_shared_from_this<AttachedPipe>
{
public:
    AttachedPipe(asio::io_context &io, int writeEnd) : m_end(io, writeEnd) {}

    /// False: more is waiting than is kept for a client.
    bool write(std::string_view text)
    {
        if (!m_end.is_open())
            return true; // the client has gone, or does not want it
        if (m_waiting.size() + text.size() > mostWaiting)
            return false;
        m_waiting += text;
        flush();
        return true;
    }

    /// The client sees the end when it has read all.
    void end()
    {
        m_isLast = true;
        flush();
    }

    void cut()
    {
        boost::system::error_code ignored;
        m_end.close(ignored);
    }

private:
    static constexpr std::size_t mostWaiting = std::size_t{4} << 20;

    void flush()
    {
        if (m_isWriting)
            return;
        if (m_waiting.empty()) {
            if (m_isLast)
                cut();
            return;
        }
        m_isWriting = true;
        m_sending.swap(m_waiting);
        m_waiting.clear();
        asio::async_write(m_end, asio::buffer(m_sending),
                          [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                              self->m_isWriting = false;
                              if (error)
                                  self->cut();
                              else
                                  self->flush();
                          });
    }

    asio::posix::stream_descriptor m_end;
    std::string m_waiting, m_sending;
    bool m_isWriting = false, m_isLast = false;
};

class AttachedPipes final : public AttachedOutput
{
public:
    AttachedPipes() = default;
    ~AttachedPipes() override
    {
        for (const auto &pipe : m_pipes) {
            if (pipe)
                pipe->end();
        }
        for (int &file : m_read)
            closeFile(file);
    }
    AttachedPipes(const AttachedPipes &) = delete;
    AttachedPipes &operator=(const AttachedPipes &) = delete;

    bool open(asio::io_context &io, bool hasStdout, bool hasStderr)
    {
        const bool wanted[2] = {hasStdout, hasStderr};
        for (int i = 0; i < 2; ++i) {
            int ends[2];
            if (!wanted[i])
                continue;
            if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
                return false;
            m_read[i] = ends[0];
            m_pipes[i] = std::make_shared<AttachedPipe>(io, ends[1]);
        }
        return true;
    }

    void write(OutputStream stream, std::string_view text) override
    {
        const auto &pipe = m_pipes[stream == OutputStream::Err ? 1 : 0];
        if (!pipe || pipe->write(text))
            return;
        // Neither may the container wait for a client nor memory grow with it.
        for (const auto &each : m_pipes) {
            if (each)
                each->cut();
        }
        m_notice.set({255, "the client reads too slowly: what the container wrote was lost"});
    }

    void end(int exitCode) override
    {
        for (const auto &pipe : m_pipes) {
            if (pipe)
                pipe->end();
        }
        m_notice.set({exitCode, {}});
    }

    int takeRead(OutputStream stream) override
    {
        return std::exchange(m_read[stream == OutputStream::Err ? 1 : 0], -1);
    }

    void whenEnded(std::function<void(ProcessEnd)> handler) override { m_notice.whenSet(std::move(handler)); }

private:
    std::shared_ptr<AttachedPipe> m_pipes[2];
    int m_read[2] = {-1, -1};
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
        closeFile(m_input);
        closeFile(m_terminal);
    }
    AttachSession(const AttachSession &) = delete;
    AttachSession &operator=(const AttachSession &) = delete;

    int takeStdin() override { return std::exchange(m_input, -1); }
    int takeStdout() override { return m_output->takeRead(OutputStream::Out); }
    int takeStderr() override { return m_output->takeRead(OutputStream::Err); }
    void resize(std::uint16_t columns, std::uint16_t rows) override
    {
        setTerminalSize(m_terminal, columns, rows);
    }
    void whenEnded(std::function<void(ProcessEnd)> handler) override
    {
        m_output->whenEnded(std::move(handler));
    }

private:
    std::shared_ptr<AttachedOutput> m_output;
    int m_input, m_terminal = -1;
};

} // namespace

std::shared_ptr<AttachedOutput> AttachedOutput::make(asio::io_context &io, bool hasStdout, bool hasStderr)
{
    auto pipes = std::make_shared<AttachedPipes>();
    return pipes->open(io, hasStdout, hasStderr) ? pipes : nullptr;
}

std::unique_ptr<ContainerProcess> attachSession(std::shared_ptr<AttachedOutput> output, int input,
                                                bool isTerminal)
{
    return std::make_unique<AttachSession>(std::move(output), input, isTerminal);
}

} // namespace cluster::local
