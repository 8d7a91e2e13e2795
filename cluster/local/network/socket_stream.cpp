#include "cluster/local/network/socket_stream.h"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <netinet/in.h>
#include <utility>

namespace cluster::local {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCodeOfBoost = boost::system::error_code;

std::error_code translated(const ErrorCodeOfBoost &error)
{
    if (!error)
        return {};
    if (error == asio::error::eof)
        return std::make_error_code(std::errc::no_message_available);
    if (error == asio::error::operation_aborted)
        return std::make_error_code(std::errc::operation_canceled);
    return {error.value(), std::generic_category()};
}

/// The socket is shared with the pending operations, so that it outlives the stream until they have ended.
class SocketStream : public ByteStream
{
public:
    explicit SocketStream(tcp::socket socket) : m_socket(std::make_shared<tcp::socket>(std::move(socket))) {}
    ~SocketStream() override { SocketStream::close(); }

    void readSome(char *buffer, std::size_t size, ReadHandler handler) override
    {
        m_socket->async_read_some(
            asio::buffer(buffer, size),
            [socket = m_socket, handler = std::move(handler)](
                const ErrorCodeOfBoost &error, std::size_t count) { handler(translated(error), count); });
    }

    void write(std::string data, WriteHandler handler) override
    {
        auto kept = std::make_shared<std::string>(std::move(data));
        asio::async_write(*m_socket, asio::buffer(*kept),
                          [socket = m_socket, kept, handler = std::move(handler)](
                              const ErrorCodeOfBoost &error, std::size_t) { handler(translated(error)); });
    }

    void shutdownWrite() override
    {
        ErrorCodeOfBoost ignored; // the peer may have gone: reading tells
        m_socket->shutdown(tcp::socket::shutdown_send, ignored);
    }

    void close() override
    {
        ErrorCodeOfBoost ignored;
        m_socket->close(ignored);
    }

private:
    std::shared_ptr<tcp::socket> m_socket;
};

struct Dialling
{
    tcp::socket socket;
    asio::steady_timer timer;
    Dialled dialled;
    bool isLate = false;
};

Error dialError(const DialTarget &target, bool isLate, const ErrorCodeOfBoost &error)
{
    const std::string where = target.address.text() + ":" + std::to_string(target.port);
    if (isLate)
        return {ErrorCode::DeadlineExceeded, "no answer from " + where};
    return {ErrorCode::Unavailable, "can't connect to " + where + ": " + error.message()};
}

ErrorCodeOfBoost bindTo(tcp::socket &socket, Ipv4 from)
{
    ErrorCodeOfBoost error;
    socket.open(tcp::v4(), error);
    if (error || from == Ipv4{})
        return error;
    // The port is picked at connect: otherwise each address has only some 28,000 connections to all servers.
    const int on = 1;
    ::setsockopt(socket.native_handle(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    socket.bind({asio::ip::address_v4(from.value), 0}, error);
    return error;
}

} // namespace

std::unique_ptr<ByteStream> makeSocketStream(tcp::socket socket)
{
    ErrorCodeOfBoost ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    return std::make_unique<SocketStream>(std::move(socket));
}

void dial(const asio::any_io_executor &executor, DialTarget target, std::chrono::milliseconds timeout,
          Dialled dialled)
{
    auto work = std::make_shared<Dialling>(
        Dialling{tcp::socket(executor), asio::steady_timer(executor), std::move(dialled)});
    if (const ErrorCodeOfBoost error = bindTo(work->socket, target.from); error) {
        asio::post(executor,
                   [work, target, error] { work->dialled(tl::unexpected(dialError(target, false, error))); });
        return;
    }
    work->timer.expires_after(timeout);
    work->timer.async_wait([work](const ErrorCodeOfBoost &error) {
        if (error)
            return;
        work->isLate = true;
        ErrorCodeOfBoost ignored;
        work->socket.close(ignored);
    });
    const tcp::endpoint endpoint(asio::ip::address_v4(target.address.value), target.port);
    work->socket.async_connect(endpoint, [work, target](const ErrorCodeOfBoost &error) {
        work->timer.cancel();
        if (error || work->isLate)
            work->dialled(tl::unexpected(dialError(target, work->isLate, error)));
        else
            work->dialled(makeSocketStream(std::move(work->socket)));
    });
}

} // namespace cluster::local
