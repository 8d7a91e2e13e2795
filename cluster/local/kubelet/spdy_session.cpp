#include "cluster/local/kubelet/spdy_session.h"

#include "cluster/local/kubelet/spdy_connection.h"
#include <boost/asio/post.hpp>
#include <utility>

namespace cluster::local {

namespace {

/// The user's handle of a stream. The connection does not know it: only the state that both share.
class SpdyByteStream : public ByteStream
{
public:
    SpdyByteStream(std::weak_ptr<SpdyConnection> connection, std::shared_ptr<SpdyStreamState> state)
        : m_connection(std::move(connection)), m_state(std::move(state))
    {
    }
    ~SpdyByteStream() override { SpdyByteStream::close(); }

    void readSome(char *buffer, std::size_t size, ReadHandler handler) override
    {
        m_state->inbound.readSome(buffer, size, std::move(handler));
        if (const auto connection = m_connection.lock())
            connection->backlogFell();
    }

    void write(std::string data, WriteHandler handler) override
    {
        if (const auto connection = m_connection.lock()) {
            connection->send(*m_state, std::move(data), false, std::move(handler));
            return;
        }
        boost::asio::post(m_state->executor, [handler = std::move(handler)] {
            handler(std::make_error_code(std::errc::broken_pipe));
        });
    }

    void shutdownWrite() override
    {
        if (const auto connection = m_connection.lock())
            connection->send(*m_state, {}, true, nullptr);
    }

    void close() override
    {
        m_state->inbound.cancel();
        if (const auto connection = m_connection.lock())
            connection->closeStream(*m_state);
    }

private:
    std::weak_ptr<SpdyConnection> m_connection;
    std::shared_ptr<SpdyStreamState> m_state;
};

} // namespace

SpdySession::SpdySession(const boost::asio::any_io_executor &executor, std::unique_ptr<ByteStream> carrier,
                         SpdyLimits limits, Events events)
{
    m_connection = std::make_shared<SpdyConnection>(executor, std::move(carrier), limits);
    const std::weak_ptr<SpdyConnection> weak = m_connection;
    m_connection->start(
        [weak, onStream = std::move(events.onStream)](const std::shared_ptr<SpdyStreamState> &state,
                                                      SpdyHeaders headers) {
            onStream({state->id, std::move(headers), std::make_unique<SpdyByteStream>(weak, state)});
        },
        std::move(events.onEnded));
}

SpdySession::~SpdySession()
{
    m_connection->abandon();
}

void SpdySession::finish()
{
    m_connection->finish();
}

std::size_t SpdySession::openStreams() const
{
    return m_connection->openStreams();
}

} // namespace cluster::local
