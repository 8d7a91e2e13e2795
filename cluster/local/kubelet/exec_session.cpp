#include "cluster/local/kubelet/exec_session.h"

#include "cluster/local/kubelet/descriptor_stream.h"
#include "cluster/local/kubelet/exec_status.h"
#include "cluster/local/kubelet/stream_pump.h"
#include <utility>

namespace cluster::local {

namespace {

/// Something that the process started in the background may hold its output open for ever.
constexpr std::chrono::seconds outputGrace{5};

} // namespace

ExecSession::ExecSession(const boost::asio::any_io_executor &executor,
                         std::unique_ptr<ContainerProcess> process, RemoteCommand remote)
    : m_executor(executor), m_process(std::move(process)), m_remote(std::move(remote)), m_grace(executor)
{
}

void ExecSession::start()
{
    startOutput(m_process->takeStdout(), m_remote.out);
    startOutput(m_process->takeStderr(), m_remote.err);
    startInput();
    if (m_remote.resize)
        readSizes();
    m_process->whenEnded([weak = weak_from_this()](ProcessEnd end) {
        const auto self = weak.lock();
        if (!self || self->m_isOver)
            return;
        self->m_end = std::move(end);
        self->m_grace.expires_after(outputGrace);
        self->m_grace.async_wait([weak](const boost::system::error_code &error) {
            if (const auto late = weak.lock(); late && !error)
                late->tellEnd();
        });
        self->endIfDone();
    });
}

void ExecSession::startOutput(int descriptor, const std::shared_ptr<ByteStream> &to)
{
    if (descriptor < 0)
        return;
    const std::shared_ptr<ByteStream> from = makeDescriptorStream(m_executor, descriptor);
    m_outputs.push_back(from);
    ++m_openOutputs;
    const auto ended = [weak = weak_from_this(), from](PumpEnd end) {
        const auto self = weak.lock();
        if (!self)
            return;
        if (end == PumpEnd::SinkBroke) // the client closed this one only: the process is not to notice
            drainStream(from, [weak](PumpEnd) {
                if (const auto later = weak.lock())
                    later->outputEnded();
            });
        else
            self->outputEnded();
    };
    if (to)
        pumpStream(from, to, ended);
    else
        drainStream(from, ended);
}

void ExecSession::startInput()
{
    const int descriptor = m_process->takeStdin();
    if (descriptor >= 0)
        m_input = makeDescriptorStream(m_executor, descriptor);
    if (!m_remote.in)
        return;
    if (!m_input) {
        drainStream(m_remote.in, [](PumpEnd) {});
        return;
    }
    pumpStream(m_remote.in, m_input, [weak = weak_from_this()](PumpEnd end) {
        const auto self = weak.lock();
        // The process reads no more: what the client still types must not hold up its other streams.
        if (self && end == PumpEnd::SinkBroke)
            drainStream(self->m_remote.in, [](PumpEnd) {});
    });
}

void ExecSession::readSizes()
{
    m_sizeBuffer.resize(1024);
    m_remote.resize->readSome(
        m_sizeBuffer.data(), m_sizeBuffer.size(),
        [self = shared_from_this()](std::error_code error, std::size_t count) {
            if (error || self->m_isOver)
                return;
            for (const TerminalSize &size : self->m_sizes.feed({self->m_sizeBuffer.data(), count}))
                self->m_process->resize(size.columns, size.rows);
            self->readSizes();
        });
}

void ExecSession::outputEnded()
{
    --m_openOutputs;
    endIfDone();
}

void ExecSession::endIfDone()
{
    if (m_end && m_openOutputs == 0)
        tellEnd();
}

void ExecSession::tellEnd()
{
    if (m_isOver)
        return;
    m_isOver = true;
    m_grace.cancel();
    for (const auto &stream : m_outputs)
        stream->close();
    if (m_input)
        m_input->close();
    std::string text = m_remote.hasJsonStatus ? execStatus(*m_end) : execStatusText(*m_end);
    for (const auto &stream : {m_remote.out, m_remote.err}) {
        if (stream)
            stream->shutdownWrite();
    }
    const auto finished = [self = shared_from_this()](std::error_code) {
        self->m_remote.status->shutdownWrite();
        self->m_remote.finish();
        self->m_process.reset();
    };
    m_remote.status->write(std::move(text), finished);
}

void ExecSession::stop()
{
    m_isOver = true;
    m_grace.cancel();
    for (const auto &stream : m_outputs)
        stream->close();
    if (m_input)
        m_input->close();
    for (const auto &stream : {m_remote.in, m_remote.out, m_remote.err, m_remote.status, m_remote.resize}) {
        if (stream)
            stream->close();
    }
    m_process.reset();
}

} // namespace cluster::local
