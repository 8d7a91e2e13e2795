#pragma once

#include "cluster/httpd/byte_stream.h"
#include "cluster/local/kubelet/header_block.h"
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace cluster::local {

class SpdyConnection;

struct SpdyLimits
{
    std::size_t maxStreams = 2048; ///< Open at once; further ones are refused by RST_STREAM.
    /// Bytes that came and were not read. Beyond, the connection is not read until they are: what one
    /// stream's reader does not take holds up the others, as it does at a real kubelet (the protocol's flow
    /// control is not spoken by Kubernetes' clients).
    std::size_t maxStreamBacklog = std::size_t{1} << 20;
    std::size_t maxBacklog = std::size_t{16} << 20; ///< Of all streams together.
    std::chrono::milliseconds questionPeriod{5000}; ///< For PINGs to a client that isn't read meanwhile.
};

/// The server's end of a SPDY/3.1 connection as Kubernetes uses it: streams that the client opens. Accepts
/// them (SYN_REPLY), answers PINGs, ignores SETTINGS and WINDOW_UPDATE. All on the carrier's thread.
class SpdySession
{
public:
    struct Stream
    {
        std::uint32_t id = 0; ///< Odd.
        SpdyHeaders headers;
        /// close() before both directions have ended resets it. Usable after the session has gone.
        std::unique_ptr<ByteStream> bytes;
    };
    struct Events
    {
        std::function<void(Stream)> onStream;
        std::function<void()> onEnded; ///< Once: the connection has gone, by whichever end.
    };

    /// Starts reading at once. `executor` is that of the carrier's thread.
    SpdySession(const boost::asio::any_io_executor &executor, std::unique_ptr<ByteStream> carrier,
                SpdyLimits limits, Events events);
    ~SpdySession(); ///< Cuts the connection; onEnded is not called.
    SpdySession(const SpdySession &) = delete;
    SpdySession &operator=(const SpdySession &) = delete;

    /// Nothing more will be sent: when what is queued has gone out, says GOAWAY and ends the connection (at
    /// the latest when the client does, or a few seconds later). Then onEnded.
    void finish();

    [[nodiscard]] std::size_t openStreams() const;

private:
    std::shared_ptr<SpdyConnection> m_connection;
};

} // namespace cluster::local
