#pragma once

#include "cluster/base/result.h"
#include "cluster/httpd/byte_stream.h"
#include "cluster/httpd/server_exchange.h"
#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

namespace cluster::local {

/// The server's end of a WebSocket (RFC 6455), by Boost.Beast over the connection of an HTTP exchange. Pings
/// are answered while somebody reads. All on the listener's thread.
class WebSocket
{
public:
    using Opened = std::function<void(Result<std::shared_ptr<WebSocket>>)>;
    /// A message, text or binary, of at most 1 MiB (longer ones end the connection). The peer's close is an
    /// end (see isEnd).
    using MessageHandler = std::function<void(std::error_code, std::string)>;

    /// Answers the handshake, with `protocol` as the subprotocol, and calls `opened`. InvalidArgument: the
    /// request is no good handshake; it was answered so. Unavailable: the client has gone.
    static void accept(const boost::asio::any_io_executor &executor,
                       const std::shared_ptr<ServerExchange> &exchange, const std::string &protocol,
                       Opened opened);

    virtual ~WebSocket() = default;

    /// One at a time, as of the following; handlers are never called from inside of a call.
    virtual void read(MessageHandler handler) = 0;
    virtual void write(std::string message, ByteStream::WriteHandler handler) = 0; ///< Binary.
    virtual void close(ByteStream::WriteHandler handler) = 0; ///< Code 1000, and waits for the peer's.
    virtual void cut() = 0; ///< Pending calls end with an error.
};

/// The binary messages of a WebSocket as one stream of bytes; where they begin and end means nothing. Carries
/// SPDY in `SPDY/3.1+portforward.k8s.io`.
[[nodiscard]] std::unique_ptr<ByteStream> makeTunnel(const boost::asio::any_io_executor &executor,
                                                     std::shared_ptr<WebSocket> socket);

} // namespace cluster::local
