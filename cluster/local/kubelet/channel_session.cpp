#include "cluster/local/kubelet/channel_session.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace cluster::local {

namespace {

constexpr std::size_t maxBacklog = std::size_t{1}
    << 20; // unread bytes of a channel, beyond which nothing is read
constexpr std::uint8_t closingChannel = 255;

} // namespace

class ChannelSession::Channel : public ByteStream
{
public:
    Channel(std::weak_ptr<ChannelSession> session, boost::asio::any_io_executor executor, std::uint8_t number,
            std::shared_ptr<InboundQueue> inbound)
        : m_session(std::move(session)), m_executor(std::move(executor)), m_number(number),
          m_inbound(std::move(inbound))
    {
    }
    ~Channel() override { Channel::close(); }

    void readSome(char *buffer, std::size_t size, ReadHandler handler) override
    {
        m_inbound->readSome(buffer, size, std::move(handler));
        if (const auto session = m_session.lock())
            session->read();
    }
    void write(std::string data, WriteHandler handler) override
    {
        const auto session = m_session.lock();
        if (session && !m_isOurEndSaid)
            session->send(m_number, data, std::move(handler));
        else
            boost::asio::post(m_executor, [handler = std::move(handler)] {
                handler(std::make_error_code(std::errc::broken_pipe));
            });
    }
    /// The protocol has no word for it from this side: who reads gets the end, too, so that the stream is
    /// over.
    void shutdownWrite() override
    {
        m_isOurEndSaid = true;
        m_inbound->finish(std::make_error_code(std::errc::no_message_available));
    }
    void close() override
    {
        m_isOurEndSaid = true;
        m_inbound->cancel();
        if (const auto session = m_session.lock())
            session->read();
    }

private:
    std::weak_ptr<ChannelSession> m_session;
    boost::asio::any_io_executor m_executor;
    std::uint8_t m_number;
    std::shared_ptr<InboundQueue> m_inbound;
    bool m_isOurEndSaid = false;
};

ChannelSession::ChannelSession(boost::asio::any_io_executor executor, std::shared_ptr<WebSocket> socket,
                               std::function<void()> onEnded)
    : m_executor(std::move(executor)), m_socket(std::move(socket)), m_onEnded(std::move(onEnded))
{
}

std::unique_ptr<ByteStream> ChannelSession::open(std::uint8_t channel)
{
    auto &inbound = m_channels[channel];
    inbound = std::make_shared<InboundQueue>(m_executor);
    return std::make_unique<Channel>(weak_from_this(), m_executor, channel, inbound);
}

void ChannelSession::start()
{
    read();
}

void ChannelSession::read()
{
    const bool isFull = std::any_of(m_channels.begin(), m_channels.end(),
                                    [](const auto &entry) { return entry.second->size() > maxBacklog; });
    if (m_isReading || m_isEnded || isFull)
        return;
    m_isReading = true;
    m_socket->read([self = shared_from_this()](std::error_code error, const std::string &message) {
        self->m_isReading = false;
        if (self->m_isEnded)
            return;
        if (error) {
            self->end();
            return;
        }
        self->onMessage(message);
        self->read();
    });
}

void ChannelSession::onMessage(std::string_view message)
{
    if (message.empty())
        return;
    const auto number = static_cast<std::uint8_t>(message.front());
    message.remove_prefix(1);
    const bool isClosing = number == closingChannel && message.size() == 1;
    const auto found = m_channels.find(isClosing ? static_cast<std::uint8_t>(message.front()) : number);
    if (found == m_channels.end())
        return;
    if (isClosing)
        found->second->finish(std::make_error_code(std::errc::no_message_available));
    else if (!message.empty())
        found->second->push(message);
}

void ChannelSession::send(std::uint8_t channel, const std::string &data, ByteStream::WriteHandler handler)
{
    if (m_isEnded || m_isFinishing) {
        boost::asio::post(m_executor, [handler = std::move(handler)] {
            handler(std::make_error_code(std::errc::broken_pipe));
        });
        return;
    }
    m_outgoing.push_back({static_cast<char>(channel) + data, std::move(handler)});
    writeNext();
}

void ChannelSession::writeNext()
{
    if (m_isWriting || m_isEnded)
        return;
    if (m_outgoing.empty()) {
        if (m_isFinishing && !std::exchange(m_isClosing, true))
            m_socket->close([self = shared_from_this()](std::error_code) { self->end(); });
        return;
    }
    Outgoing next = std::move(m_outgoing.front());
    m_outgoing.pop_front();
    m_isWriting = true;
    m_socket->write(std::move(next.message),
                    [self = shared_from_this(), handler = std::move(next.handler)](std::error_code error) {
                        self->m_isWriting = false;
                        handler(error);
                        if (error)
                            self->end();
                        else
                            self->writeNext();
                    });
}

void ChannelSession::finish()
{
    if (std::exchange(m_isFinishing, true) || m_isEnded)
        return;
    // Nobody reads the channels any more, but the peer's close has to be read.
    for (const auto &[number, inbound] : m_channels)
        inbound->cancel();
    read();
    writeNext();
}

void ChannelSession::close()
{
    m_onEnded = nullptr;
    end();
}

void ChannelSession::end()
{
    if (std::exchange(m_isEnded, true))
        return;
    m_socket->cut();
    for (const auto &[number, inbound] : m_channels)
        inbound->finish(std::make_error_code(std::errc::connection_reset));
    for (Outgoing &left : std::exchange(m_outgoing, {}))
        boost::asio::post(m_executor, [handler = std::move(left.handler)] {
            handler(std::make_error_code(std::errc::operation_canceled));
        });
    if (m_onEnded)
        boost::asio::post(m_executor, std::exchange(m_onEnded, nullptr));
}

} // namespace cluster::local
