#include "cluster/local/kubelet/spdy_command.h"

#include <utility>

namespace cluster::local {

std::shared_ptr<SpdyCommand> SpdyCommand::start(const boost::asio::any_io_executor &executor,
                                                std::unique_ptr<ByteStream> carrier,
                                                const ExecOptions &options, const std::string &protocol,
                                                std::chrono::milliseconds timeout, Events events)
{
    const std::shared_ptr<SpdyCommand> self(new SpdyCommand(executor));
    const bool isOld = protocol == "channel.k8s.io" || protocol == "v2.channel.k8s.io";
    self->m_hasJsonStatus = protocol == "v4.channel.k8s.io" || protocol == "v5.channel.k8s.io";
    self->m_events = std::move(events);
    self->m_streams["error"];
    if (options.hasStdin)
        self->m_streams["stdin"];
    if (options.hasStdout)
        self->m_streams["stdout"];
    if (options.hasStderr && !options.tty)
        self->m_streams["stderr"];
    if (options.tty && !isOld)
        self->m_streams["resize"];
    self->m_missing = self->m_streams.size();

    const std::weak_ptr<SpdyCommand> weak = self;
    SpdySession::Events sessionEvents;
    sessionEvents.onStream = [weak](SpdySession::Stream stream) {
        if (const auto command = weak.lock())
            command->onStream(std::move(stream));
    };
    sessionEvents.onEnded = [weak] {
        const auto command = weak.lock();
        if (!command)
            return;
        command->m_timer.cancel();
        if (command->m_events.onEnded)
            std::exchange(command->m_events.onEnded, nullptr)();
    };
    SpdyLimits limits;
    limits.maxStreams = 16;
    limits.maxBacklog = limits.maxStreamBacklog; // one of them has what is more than a few bytes: stdin
    self->m_session
        = std::make_unique<SpdySession>(executor, std::move(carrier), limits, std::move(sessionEvents));
    self->m_timer.expires_after(timeout);
    self->m_timer.async_wait([weak](const boost::system::error_code &error) {
        if (const auto command = weak.lock(); command && !error)
            command->m_session->finish(); // tells the client, then ends
    });
    return self;
}

void SpdyCommand::onStream(SpdySession::Stream stream)
{
    const auto found = m_streams.find(stream.headers["streamtype"]);
    if (found == m_streams.end() || found->second)
        return; // unknown or twice: reset as its handle goes
    found->second = std::move(stream.bytes);
    if (--m_missing > 0)
        return;
    m_timer.cancel();
    const auto take = [this](const char *name) {
        const auto entry = m_streams.find(name);
        return entry == m_streams.end() ? nullptr : entry->second;
    };
    RemoteCommand remote{take("stdin"),
                         take("stdout"),
                         take("stderr"),
                         take("error"),
                         take("resize"),
                         m_hasJsonStatus,
                         [weak = weak_from_this()] {
                             if (const auto self = weak.lock())
                                 self->m_session->finish();
                         }};
    if (m_events.onReady)
        std::exchange(m_events.onReady, nullptr)(std::move(remote));
}

void SpdyCommand::close()
{
    m_timer.cancel();
    m_events = {};
    m_session.reset();
}

} // namespace cluster::local
