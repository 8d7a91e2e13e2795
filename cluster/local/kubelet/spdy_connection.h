#pragma once

#include "cluster/local/kubelet/inbound_queue.h"
#include "cluster/local/kubelet/spdy_frame.h"
#include "cluster/local/kubelet/spdy_session.h"
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <map>

namespace cluster::local {

/// What the connection and the user's handle of a stream share.
struct SpdyStreamState
{
    SpdyStreamState(std::uint32_t number, boost::asio::any_io_executor ex)
        : id(number), executor(ex), inbound(std::move(ex))
    {
    }

    const std::uint32_t id;
    const boost::asio::any_io_executor executor;
    InboundQueue inbound;
    bool isOurEndSent = false; ///< FIN or RST was queued.
    bool isReset = false; ///< By either end.
};

/// The machinery of SpdySession: keeps itself alive while the carrier works.
class SpdyConnection : public std::enable_shared_from_this<SpdyConnection>, private SpdyFrameSink
{
public:
    using OnStream = std::function<void(const std::shared_ptr<SpdyStreamState> &, SpdyHeaders)>;

    SpdyConnection(boost::asio::any_io_executor executor, std::unique_ptr<ByteStream> carrier,
                   SpdyLimits limits);

    void start(OnStream onStream, std::function<void()> onEnded);
    void abandon(); ///< The session has gone: cuts the connection without a call.
    void finish();
    void send(SpdyStreamState &stream, std::string data, bool isLast, ByteStream::WriteHandler handler);
    void closeStream(SpdyStreamState &stream);
    void backlogFell(); ///< A stream was read.
    [[nodiscard]] std::size_t openStreams() const { return m_streams.size(); }

private:
    struct Outgoing
    {
        std::string frame;
        ByteStream::WriteHandler handler; ///< May be empty.
        bool isAnswer = false; ///< To something the client sent; nobody but us waits for it.
    };

    Status onData(std::uint32_t stream, std::string_view bytes, bool isLast) override;
    Status onControl(SpdyType type, std::uint8_t flags, std::string_view payload) override;
    Status onSynStream(std::uint8_t flags, std::string_view payload);
    void read();
    void askIfAlive();
    void enqueue(Outgoing outgoing);
    void answer(std::string frame);
    void writeNext();
    void dropIfEnded(const SpdyStreamState &stream);
    void lingerForPeer();
    void end();
    [[nodiscard]] bool isFull() const;

    boost::asio::any_io_executor m_executor;
    std::unique_ptr<ByteStream> m_carrier;
    const SpdyLimits m_limits;
    OnStream m_onStream;
    std::function<void()> m_onEnded;
    boost::asio::steady_timer m_linger, m_question;
    SpdyFrameReader m_reader;
    HeaderBlockReader m_headerReader;
    HeaderBlockWriter m_headerWriter;
    std::map<std::uint32_t, std::shared_ptr<SpdyStreamState>> m_streams;
    std::uint32_t m_lastStream = 0;
    std::deque<Outgoing> m_outgoing;
    std::size_t m_answerBacklog = 0; ///< Bytes of the answers in m_outgoing.
    std::string m_buffer;
    bool m_isReading = false;
    bool m_isAsking = false;
    bool m_isWriting = false;
    bool m_isFinishing = false;
    bool m_isLingering = false;
    bool m_isEnded = false;
};

} // namespace cluster::local
