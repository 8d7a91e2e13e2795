#include "cluster/local/kubelet/web_socket.h"

#include "cluster/local/kubelet/exchange_stream.h"
#include "cluster/local/kubelet/inbound_queue.h"
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <utility>

namespace cluster::local {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;

constexpr std::size_t longestMessage = std::size_t{1} << 20;

std::error_code webSocketError(const boost::system::error_code &error)
{
    if (!error)
        return {};
    if (error == websocket::error::closed || error == asio::error::eof)
        return std::make_error_code(std::errc::no_message_available);
    if (error == asio::error::operation_aborted)
        return std::make_error_code(std::errc::operation_canceled);
    return std::make_error_code(std::errc::connection_reset);
}

using Socket = websocket::stream<ExchangeStream, false>; // no compression

/// The socket is shared with the pending operations, so that it outlives this until they have ended.
class BeastWebSocket : public WebSocket
{
public:
    explicit BeastWebSocket(std::shared_ptr<Socket> socket) : m_socket(std::move(socket)) {}
    ~BeastWebSocket() override { m_socket->next_layer().close(); }

    void read(MessageHandler handler) override
    {
        auto buffer = std::make_shared<beast::flat_buffer>();
        m_socket->async_read(
            *buffer,
            [socket = m_socket, buffer, handler = std::move(handler)](const boost::system::error_code &error,
                                                                      std::size_t) {
                const auto data = buffer->data();
                handler(webSocketError(error),
                        error ? std::string()
                              : std::string(static_cast<const char *>(data.data()), data.size()));
            });
    }

    void write(std::string message, ByteStream::WriteHandler handler) override
    {
        auto kept = std::make_shared<std::string>(std::move(message));
        m_socket->async_write(
            asio::buffer(*kept),
            [socket = m_socket, kept, handler = std::move(handler)](
                const boost::system::error_code &error, std::size_t) { handler(webSocketError(error)); });
    }

    void close(ByteStream::WriteHandler handler) override
    {
        m_socket->async_close(
            websocket::close_code::normal,
            [socket = m_socket, handler = std::move(handler)](const boost::system::error_code &error) {
                handler(webSocketError(error));
            });
    }

    void cut() override { m_socket->next_layer().close(); }

private:
    std::shared_ptr<Socket> m_socket;
};

http::request<http::empty_body> toBeast(const ServerRequest &request)
{
    http::request<http::empty_body> converted;
    converted.method(http::verb::get);
    converted.target("/");
    converted.version(11);
    for (const auto &[name, value] : request.headers)
        converted.insert(name, value);
    return converted;
}

/// A queue of what came in messages, and writes each piece as one message.
class Tunnel : public ByteStream
{
public:
    Tunnel(const asio::any_io_executor &executor, std::shared_ptr<WebSocket> socket)
        : m_socket(std::move(socket)), m_inbound(std::make_shared<InboundQueue>(executor))
    {
    }
    ~Tunnel() override { Tunnel::close(); }

    void readSome(char *buffer, std::size_t size, ReadHandler handler) override
    {
        const bool isEmpty = m_inbound->size() == 0 && !m_inbound->isFinished();
        m_inbound->readSome(buffer, size, std::move(handler));
        if (isEmpty)
            readMessage(m_socket, m_inbound);
    }
    void write(std::string data, WriteHandler handler) override
    {
        m_socket->write(std::move(data), std::move(handler));
    }
    void shutdownWrite() override
    {
        m_socket->close([](std::error_code) {});
    }
    void close() override
    {
        m_inbound->cancel();
        m_socket->cut();
    }

private:
    static void readMessage(const std::shared_ptr<WebSocket> &socket,
                            const std::shared_ptr<InboundQueue> &inbound)
    {
        socket->read([socket, inbound](std::error_code error, const std::string &message) {
            if (error)
                inbound->finish(error);
            else if (message.empty())
                readMessage(socket, inbound);
            else
                inbound->push(message);
        });
    }

    std::shared_ptr<WebSocket> m_socket;
    std::shared_ptr<InboundQueue> m_inbound;
};

} // namespace

void WebSocket::accept(const asio::any_io_executor &executor, const std::shared_ptr<ServerExchange> &exchange,
                       const std::string &protocol, Opened opened)
{
    const auto request = std::make_shared<http::request<http::empty_body>>(toBeast(exchange->request()));
    const auto socket = std::make_shared<Socket>(executor, exchange);
    socket->set_option(websocket::stream_base::timeout{websocket::stream_base::none(),
                                                       websocket::stream_base::none(), false});
    socket->set_option(websocket::stream_base::decorator([protocol](websocket::response_type &answer) {
        if (!protocol.empty())
            answer.set(http::field::sec_websocket_protocol, protocol);
    }));
    socket->read_message_max(longestMessage);
    socket->binary(true);
    socket->auto_fragment(false);
    socket->async_accept(
        *request, [socket, request, opened = std::move(opened)](const boost::system::error_code &error) {
            if (error)
                opened(fail(ErrorCode::InvalidArgument, "no WebSocket: " + error.message()));
            else
                opened(std::make_shared<BeastWebSocket>(socket));
        });
}

std::unique_ptr<ByteStream> makeTunnel(const asio::any_io_executor &executor,
                                       std::shared_ptr<WebSocket> socket)
{
    return std::make_unique<Tunnel>(executor, std::move(socket));
}

} // namespace cluster::local
