#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <system_error>

namespace cluster {

/// Raw bytes both ways, whatever carries them (TCP, TLS, a Unix socket). All calls and callbacks happen on
/// the thread of the listener's io_context. At most one read and one write at a time. Destroying it closes
/// it; pending callbacks are then called with std::errc::operation_canceled (after the destructor, not from
/// it).
class ByteStream
{
public:
    using ReadHandler = std::function<void(std::error_code, std::size_t)>;
    using WriteHandler = std::function<void(std::error_code)>;

    virtual ~ByteStream() = default;

    /// Reads 1 to `size` bytes into `buffer`, which must live until the callback. The peer's end is
    /// std::errc::no_message_available with 0 bytes (see isEnd).
    virtual void readSome(char *buffer, std::size_t size, ReadHandler handler) = 0;
    virtual void write(std::string data, WriteHandler handler) = 0; ///< all of it, or an error
    virtual void shutdownWrite()
        = 0; ///< the peer reads an end; reading goes on. Ignored by TLS before its end
    virtual void close() = 0; ///< pending calls end with operation_canceled
};

/// The peer closed its side in good order.
inline bool isEnd(std::error_code error)
{
    return error == std::errc::no_message_available;
}

} // namespace cluster
