#include "cluster/local/kubelet/spdy_connection.h"

#include "cluster/local/kubelet/big_endian.h"
#include <boost/asio/post.hpp>
#include <utility>

namespace cluster::local {

namespace {

constexpr std::size_t readSize = 64 * 1024;
constexpr std::size_t maxFrameData = 32 * 1024; // so that streams take turns
constexpr std::size_t maxWrite = 256 * 1024;
/// Answers to PINGs and resets that a client does not take. A client that sends without reading goes.
constexpr std::size_t maxAnswerBacklog = 256 * 1024;
constexpr std::chrono::seconds lingerTime{3};

std::error_code code(std::errc error)
{
    return std::make_error_code(error);
}

tl::unexpected<Error> gone()
{
    return fail(ErrorCode::Cancelled, "the session was closed");
}

} // namespace

SpdyConnection::SpdyConnection(boost::asio::any_io_executor executor, std::unique_ptr<ByteStream> carrier,
                               SpdyLimits limits)
    : m_executor(std::move(executor)), m_carrier(std::move(carrier)), m_limits(limits), m_linger(m_executor),
      m_question(m_executor)
{
}

void SpdyConnection::start(OnStream onStream, std::function<void()> onEnded)
{
    m_onStream = std::move(onStream);
    m_onEnded = std::move(onEnded);
    read();
}

void SpdyConnection::abandon()
{
    m_onEnded = nullptr;
    end();
}

bool SpdyConnection::isFull() const
{
    std::size_t all = 0;
    for (const auto &[id, stream] : m_streams) {
        const std::size_t size = stream->inbound.size();
        if (size > m_limits.maxStreamBacklog)
            return true;
        all += size;
    }
    return all > m_limits.maxBacklog;
}

void SpdyConnection::read()
{
    if (m_isReading || m_isEnded)
        return;
    if (isFull()) {
        askIfAlive();
        return;
    }
    m_isReading = true;
    m_buffer.resize(readSize);
    m_carrier->readSome(
        m_buffer.data(), m_buffer.size(),
        [self = shared_from_this()](std::error_code error, std::size_t count) {
            self->m_isReading = false;
            if (self->m_isEnded)
                return;
            const bool isFine = !error && self->m_reader.feed({self->m_buffer.data(), count}, *self);
            if (isFine)
                self->read();
            else
                self->end();
        });
}

/// Who isn't read isn't seen to go either: now and then it is written to, which fails then.
void SpdyConnection::askIfAlive()
{
    if (std::exchange(m_isAsking, true))
        return;
    m_question.expires_after(m_limits.questionPeriod);
    m_question.async_wait([weak = weak_from_this()](const boost::system::error_code &error) {
        const auto self = weak.lock();
        if (!self || error || self->m_isEnded)
            return;
        self->m_isAsking = false;
        if (!self->isFull())
            return;
        if (!self->m_isWriting) { // else that write will tell
            std::string id;
            appendBig32(id, 2); // even: of the server's end
            self->answer(spdyControl(SpdyType::Ping, 0, id));
        }
        self->askIfAlive();
    });
}

void SpdyConnection::backlogFell()
{
    read();
}

Status SpdyConnection::onData(std::uint32_t stream, std::string_view bytes, bool isLast)
{
    if (m_isEnded)
        return gone();
    // Of a stream that is over here: it crossed our reset.
    const auto found = m_streams.find(stream);
    if (found == m_streams.end())
        return {};
    const std::shared_ptr<SpdyStreamState> state = found->second;
    if (!bytes.empty())
        state->inbound.push(bytes);
    if (isLast) {
        state->inbound.finish(code(std::errc::no_message_available));
        dropIfEnded(*state);
    }
    return {};
}

Status SpdyConnection::onControl(SpdyType type, std::uint8_t flags, std::string_view payload)
{
    switch (type) {
    case SpdyType::SynStream:
        return onSynStream(flags, payload);
    case SpdyType::Ping:
        if (payload.size() != 4)
            return fail(ErrorCode::InvalidArgument, "a PING of a wrong length");
        if ((static_cast<unsigned char>(payload[3]) & 1)
            != 0) // an even one would be the answer to one of ours
            answer(spdyControl(SpdyType::Ping, 0, payload));
        return {};
    case SpdyType::RstStream: {
        const Result<std::uint32_t> id = parseStreamId(payload);
        if (!id)
            return tl::unexpected(id.error());
        if (const auto found = m_streams.find(*id); found != m_streams.end()) {
            const std::shared_ptr<SpdyStreamState> stream = found->second;
            stream->isReset = true;
            m_streams.erase(found);
            stream->inbound.finish(code(std::errc::connection_reset));
        }
        return {};
    }
    case SpdyType::Headers: {
        // Nobody wants them, but the compression state has to see them.
        if (payload.size() < 4)
            return fail(ErrorCode::InvalidArgument, "a HEADERS frame that is too short");
        const auto headers = m_headerReader.read(payload.substr(4));
        return headers ? Status() : Status(tl::unexpected(headers.error()));
    }
    case SpdyType::SynReply:
        return fail(ErrorCode::InvalidArgument, "a SYN_REPLY to a server without streams");
    case SpdyType::Settings:
    case SpdyType::GoAway:
    case SpdyType::WindowUpdate:
        return {};
    }
    return {}; // an unknown type: skipped, as the protocol wants
}

Status SpdyConnection::onSynStream(std::uint8_t flags, std::string_view payload)
{
    const Result<SynStream> syn = parseSynStream(payload);
    if (!syn)
        return tl::unexpected(syn.error());
    Result<SpdyHeaders> headers = m_headerReader.read(syn->headerBlock);
    if (!headers)
        return tl::unexpected(headers.error());
    if (syn->stream % 2 == 0 || syn->stream <= m_lastStream)
        return fail(ErrorCode::InvalidArgument, "a stream whose number is not odd and rising");
    m_lastStream = syn->stream;
    if (m_isFinishing || m_streams.size() >= m_limits.maxStreams) {
        answer(spdyRstStream(syn->stream, SpdyReset::RefusedStream));
        return {};
    }
    const auto state = std::make_shared<SpdyStreamState>(syn->stream, m_executor);
    m_streams[syn->stream] = state;
    answer(spdySynReply(syn->stream, m_headerWriter.write({})));
    if ((flags & spdyFlagLast) != 0)
        state->inbound.finish(code(std::errc::no_message_available));
    m_onStream(state, std::move(*headers));
    return {};
}

void SpdyConnection::send(SpdyStreamState &stream, std::string data, bool isLast,
                          ByteStream::WriteHandler handler)
{
    if (m_isEnded || stream.isReset || stream.isOurEndSent) {
        if (handler)
            boost::asio::post(m_executor,
                              [handler = std::move(handler)] { handler(code(std::errc::broken_pipe)); });
        return;
    }
    stream.isOurEndSent = isLast;
    std::string_view rest = data;
    do {
        const std::string_view part = rest.substr(0, maxFrameData);
        rest.remove_prefix(part.size());
        enqueue({spdyData(stream.id, part, isLast && rest.empty()), rest.empty() ? handler : nullptr});
    } while (!rest.empty());
    if (isLast)
        dropIfEnded(stream);
}

void SpdyConnection::closeStream(SpdyStreamState &stream)
{
    const auto found = m_streams.find(stream.id);
    if (m_isEnded || found == m_streams.end() || found->second.get() != &stream)
        return;
    const std::shared_ptr<SpdyStreamState> kept = found->second;
    m_streams.erase(found);
    // Our end sent and theirs not: their rest is dropped here without a word, as a real kubelet does.
    if (!stream.isOurEndSent) {
        stream.isReset = true;
        answer(spdyRstStream(stream.id, SpdyReset::Cancel));
    }
    read();
}

void SpdyConnection::dropIfEnded(const SpdyStreamState &stream)
{
    if (stream.isOurEndSent && stream.inbound.isFinished() && stream.inbound.size() == 0)
        m_streams.erase(stream.id);
}

void SpdyConnection::enqueue(Outgoing outgoing)
{
    if (m_isEnded)
        return;
    m_outgoing.push_back(std::move(outgoing));
    writeNext();
}

void SpdyConnection::answer(std::string frame)
{
    m_answerBacklog += frame.size();
    if (m_answerBacklog > maxAnswerBacklog)
        boost::asio::post(m_executor, [self = shared_from_this()] { self->end(); });
    else
        enqueue({std::move(frame), nullptr, true});
}

void SpdyConnection::writeNext()
{
    if (m_isWriting || m_isEnded)
        return;
    if (m_outgoing.empty()) {
        if (m_isFinishing)
            lingerForPeer();
        return;
    }
    std::string bytes;
    std::vector<ByteStream::WriteHandler> handlers;
    while (!m_outgoing.empty() && bytes.size() < maxWrite) {
        Outgoing &next = m_outgoing.front();
        bytes += next.frame;
        if (next.handler)
            handlers.push_back(std::move(next.handler));
        if (next.isAnswer)
            m_answerBacklog -= next.frame.size();
        m_outgoing.pop_front();
    }
    m_isWriting = true;
    m_carrier->write(std::move(bytes),
                     [self = shared_from_this(), handlers = std::move(handlers)](std::error_code error) {
                         self->m_isWriting = false;
                         for (const ByteStream::WriteHandler &handler : handlers)
                             handler(error);
                         if (error)
                             self->end();
                         else
                             self->writeNext();
                     });
}

void SpdyConnection::finish()
{
    if (m_isEnded || m_isFinishing)
        return;
    std::string payload;
    appendBig32(payload, m_lastStream);
    appendBig32(payload, 0); // OK
    enqueue({spdyControl(SpdyType::GoAway, 0, payload), nullptr});
    m_isFinishing = true;
    writeNext();
}

/// Closing at once would make the system reset the connection if the client has sent something that was not
/// read, and what is on its way to the client would be lost.
void SpdyConnection::lingerForPeer()
{
    if (std::exchange(m_isLingering, true))
        return;
    m_carrier->shutdownWrite();
    for (const auto &[id, stream] : m_streams)
        stream->inbound.cancel();
    read();
    m_linger.expires_after(lingerTime);
    m_linger.async_wait([self = shared_from_this()](const boost::system::error_code &error) {
        if (!error)
            self->end();
    });
}

void SpdyConnection::end()
{
    if (std::exchange(m_isEnded, true))
        return;
    m_linger.cancel();
    m_question.cancel();
    m_carrier->close();
    for (const auto &[id, stream] : std::exchange(m_streams, {})) {
        stream->isReset = true;
        stream->inbound.finish(code(std::errc::connection_reset));
    }
    for (Outgoing &left : std::exchange(m_outgoing, {})) {
        if (left.handler)
            boost::asio::post(m_executor, [handler = std::move(left.handler)] {
                handler(code(std::errc::operation_canceled));
            });
    }
    // It may be running right now, and be the one that ends us.
    boost::asio::post(m_executor, [kept = std::exchange(m_onStream, nullptr)] {});
    if (m_onEnded)
        boost::asio::post(m_executor, std::exchange(m_onEnded, nullptr));
}

} // namespace cluster::local
