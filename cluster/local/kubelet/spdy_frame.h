#pragma once

#include "cluster/base/result.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cluster::local {

/// Types of SPDY/3.1 control frames.
enum class SpdyType : std::uint16_t {
    SynStream = 1,
    SynReply = 2,
    RstStream = 3,
    Settings = 4,
    Ping = 6,
    GoAway = 7,
    Headers = 8,
    WindowUpdate = 9,
};

/// Reasons of an RST_STREAM.
enum class SpdyReset : std::uint32_t { ProtocolError = 1, InvalidStream = 2, RefusedStream = 3, Cancel = 5 };

/// What a SpdyFrameReader found. An error ends the reading.
class SpdyFrameSink
{
public:
    virtual ~SpdyFrameSink() = default;
    /// A part of a DATA frame, as it came; `isLast`: the other end sends nothing more on this stream.
    virtual Status onData(std::uint32_t stream, std::string_view bytes, bool isLast) = 0;
    virtual Status onControl(SpdyType type, std::uint8_t flags, std::string_view payload) = 0;
};

/// Cuts bytes into frames. Holds at most one control frame; data goes on at once, however long its frame is.
class SpdyFrameReader
{
public:
    explicit SpdyFrameReader(std::size_t maxControlBytes = 64 * 1024) : m_maxControlBytes(maxControlBytes) {}

    /// InvalidArgument: not SPDY/3, or a control frame that is too long. Unknown types are skipped.
    [[nodiscard]] Status feed(std::string_view bytes, SpdyFrameSink &sink);

private:
    [[nodiscard]] Status readHead();
    [[nodiscard]] Status readData(std::string_view &bytes, SpdyFrameSink &sink);
    [[nodiscard]] Status readControl(std::string_view &bytes, SpdyFrameSink &sink);

    std::size_t m_maxControlBytes;
    std::string m_head; ///< The 8 bytes that each frame begins with, as far as they came.
    std::string m_control; ///< Payload of a control frame, as far as it came.
    bool m_hasHead = false;
    bool m_isControl = false;
    std::uint32_t m_word = 0; ///< Stream of a data frame; version and type of a control frame.
    std::uint8_t m_flags = 0;
    std::size_t m_left = 0; ///< Bytes of the payload that are still to come.
};

constexpr std::uint8_t spdyFlagLast = 1; ///< FLAG_FIN

struct SynStream
{
    std::uint32_t stream = 0;
    std::string_view headerBlock; ///< Within the payload.
};
[[nodiscard]] Result<SynStream> parseSynStream(std::string_view payload);
/// The first four bytes as a stream's number: RST_STREAM, HEADERS, WINDOW_UPDATE, GOAWAY.
[[nodiscard]] Result<std::uint32_t> parseStreamId(std::string_view payload);

[[nodiscard]] std::string spdyControl(SpdyType type, std::uint8_t flags, std::string_view payload);
[[nodiscard]] std::string spdySynReply(std::uint32_t stream, std::string_view headerBlock);
[[nodiscard]] std::string spdyRstStream(std::uint32_t stream, SpdyReset reason);
/// \param bytes  Less than 16 MiB.
[[nodiscard]] std::string spdyData(std::uint32_t stream, std::string_view bytes, bool isLast);

} // namespace cluster::local
