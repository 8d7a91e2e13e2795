#pragma once

#include "cluster/httpd/byte_stream.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <utility>

namespace cluster {

/// Asio's errors as ByteStream words them.
inline std::error_code streamError(const boost::system::error_code &error)
{
    if (!error)
        return {};
    if (error == boost::asio::error::eof)
        return std::make_error_code(std::errc::no_message_available);
    if (error == boost::asio::error::operation_aborted)
        return std::make_error_code(std::errc::operation_canceled);
    return error;
}

/// A ByteStream over one of Asio's. What is pending keeps the socket's memory, not the socket, alive.
template<typename Stream>
class SocketStream : public ByteStream
{
public:
    explicit SocketStream(std::shared_ptr<Stream> stream) : m_stream(std::move(stream)) {}
    ~SocketStream() override { closeSocket(); }
    SocketStream(const SocketStream &) = delete;
    SocketStream &operator=(const SocketStream &) = delete;

    void readSome(char *buffer, std::size_t size, ReadHandler handler) override
    {
        m_stream->async_read_some(boost::asio::buffer(buffer, size),
                                  [stream = m_stream, handler = std::move(handler)](
                                      const boost::system::error_code &error, std::size_t count) {
                                      handler(streamError(error), error ? 0 : count);
                                  });
    }

    void write(std::string data, WriteHandler handler) override
    {
        auto kept = std::make_shared<std::string>(std::move(data));
        boost::asio::async_write(
            *m_stream, boost::asio::buffer(*kept),
            [stream = m_stream, kept, handler = std::move(handler)](
                const boost::system::error_code &error, std::size_t) { handler(streamError(error)); });
    }

    void shutdownWrite() override
    {
        boost::system::error_code ignored;
        m_stream->lowest_layer().shutdown(boost::asio::socket_base::shutdown_send, ignored);
    }

    void close() override { closeSocket(); }

protected:
    std::shared_ptr<Stream> m_stream;

private:
    void closeSocket()
    {
        boost::system::error_code ignored;
        m_stream->lowest_layer().close(ignored);
    }
};

} // namespace cluster
