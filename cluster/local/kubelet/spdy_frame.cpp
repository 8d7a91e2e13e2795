#include "cluster/local/kubelet/spdy_frame.h"

#include "cluster/local/kubelet/big_endian.h"
#include <algorithm>

namespace cluster::local {

namespace {

constexpr std::size_t headSize = 8;
constexpr std::uint32_t controlBit = 0x8000'0000U;
constexpr std::uint32_t version3 = 3U << 16;
constexpr std::uint32_t streamMask = 0x7FFF'FFFFU;

void appendFlagsAndLength(std::string &frame, std::uint8_t flags, std::size_t length)
{
    appendBig32(frame, (std::uint32_t{flags} << 24) | static_cast<std::uint32_t>(length & 0xFF'FFFF));
}

} // namespace

Status SpdyFrameReader::readHead()
{
    const std::uint32_t second = readBig32(m_head, 4);
    m_word = readBig32(m_head);
    m_isControl = (m_word & controlBit) != 0;
    m_word &= streamMask;
    m_flags = static_cast<std::uint8_t>(second >> 24);
    m_left = second & 0xFF'FFFF;
    m_head.clear();
    m_hasHead = true;
    if (m_isControl && (m_word & 0xFFFF'0000U) != version3)
        return fail(ErrorCode::InvalidArgument, "a frame that is not of SPDY version 3");
    if (m_isControl && m_left > m_maxControlBytes)
        return fail(ErrorCode::InvalidArgument,
                    "a SPDY control frame of " + std::to_string(m_left) + " bytes is too long");
    return {};
}

Status SpdyFrameReader::readData(std::string_view &bytes, SpdyFrameSink &sink)
{
    const std::string_view part = bytes.substr(0, std::min(m_left, bytes.size()));
    bytes.remove_prefix(part.size());
    m_left -= part.size();
    if (m_left == 0)
        m_hasHead = false;
    return sink.onData(m_word, part, m_left == 0 && (m_flags & spdyFlagLast) != 0);
}

Status SpdyFrameReader::readControl(std::string_view &bytes, SpdyFrameSink &sink)
{
    const std::string_view part = bytes.substr(0, std::min(m_left, bytes.size()));
    bytes.remove_prefix(part.size());
    m_left -= part.size();
    m_control += part;
    if (m_left > 0)
        return {};
    m_hasHead = false;
    const Status status = sink.onControl(static_cast<SpdyType>(m_word & 0xFFFF), m_flags, m_control);
    m_control.clear();
    return status;
}

Status SpdyFrameReader::feed(std::string_view bytes, SpdyFrameSink &sink)
{
    // Once more when the bytes are used up: a frame without a payload is whole with its head.
    while (!bytes.empty() || (m_hasHead && m_left == 0)) {
        if (!m_hasHead) {
            const std::size_t wanted = std::min(headSize - m_head.size(), bytes.size());
            m_head += bytes.substr(0, wanted);
            bytes.remove_prefix(wanted);
            if (m_head.size() < headSize)
                return {};
            if (Status status = readHead(); !status)
                return status;
            continue;
        }
        Status status = m_isControl ? readControl(bytes, sink) : readData(bytes, sink);
        if (!status)
            return status;
    }
    return {};
}

Result<SynStream> parseSynStream(std::string_view payload)
{
    constexpr std::size_t fixedSize = 10; // stream, associated stream, priority and slot
    if (payload.size() < fixedSize)
        return fail(ErrorCode::InvalidArgument, "a SYN_STREAM frame that is too short");
    return SynStream{readBig32(payload) & streamMask, payload.substr(fixedSize)};
}

Result<std::uint32_t> parseStreamId(std::string_view payload)
{
    if (payload.size() < 4)
        return fail(ErrorCode::InvalidArgument, "a SPDY control frame that is too short");
    return readBig32(payload) & streamMask;
}

std::string spdyControl(SpdyType type, std::uint8_t flags, std::string_view payload)
{
    std::string frame;
    frame.reserve(headSize + payload.size());
    appendBig32(frame, controlBit | version3 | static_cast<std::uint32_t>(type));
    appendFlagsAndLength(frame, flags, payload.size());
    frame += payload;
    return frame;
}

std::string spdySynReply(std::uint32_t stream, std::string_view headerBlock)
{
    std::string payload;
    appendBig32(payload, stream);
    payload += headerBlock;
    return spdyControl(SpdyType::SynReply, 0, payload);
}

std::string spdyRstStream(std::uint32_t stream, SpdyReset reason)
{
    std::string payload;
    appendBig32(payload, stream);
    appendBig32(payload, static_cast<std::uint32_t>(reason));
    return spdyControl(SpdyType::RstStream, 0, payload);
}

std::string spdyData(std::uint32_t stream, std::string_view bytes, bool isLast)
{
    std::string frame;
    frame.reserve(headSize + bytes.size());
    appendBig32(frame, stream & streamMask);
    appendFlagsAndLength(frame, isLast ? spdyFlagLast : std::uint8_t{0}, bytes.size());
    frame += bytes;
    return frame;
}

} // namespace cluster::local
