#include "cluster/local/runtimes/ray/http_call.h"

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <limits>
#include <utility>

namespace cluster::local {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

class Call final : public HttpCall, public std::enable_shared_from_this<Call>
{
public:
    Call(asio::io_context &io, HttpCallRequest request, HttpCallHandlers handlers)
        : m_socket(io), m_handlers(std::move(handlers))
    {
        m_request.method_string(request.method);
        m_request.target(request.target);
        m_request.version(11);
        for (const auto &[name, value] : request.headers)
            m_request.insert(name, value);
        m_request.set(http::field::host, request.host + ":" + std::to_string(request.port));
        m_request.set(http::field::connection, "close");
        m_request.body() = std::move(request.body);
        m_request.prepare_payload();
        m_host = request.host;
        m_port = request.port;
        m_parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    }

    void run()
    {
        error_code error;
        const auto address = asio::ip::make_address(m_host, error);
        if (error) {
            end(error.message());
            return;
        }
        m_socket.async_connect({address, m_port}, [self = shared_from_this()](error_code failure) {
            failure ? self->end(failure.message()) : self->write();
        });
    }

    void resume() override
    {
        if (std::exchange(m_isPaused, false))
            read();
    }

    void cancel() override
    {
        m_handlers = {};
        close();
    }

private:
    void write()
    {
        http::async_write(m_socket, m_request, [self = shared_from_this()](error_code error, std::size_t) {
            error ? self->end(error.message()) : self->readHead();
        });
    }

    void readHead()
    {
        http::async_read_header(m_socket, m_buffer, m_parser,
                                [self = shared_from_this()](error_code error, std::size_t) {
                                    error ? self->end(error.message()) : self->onHead();
                                });
    }

    void onHead()
    {
        HeaderFields headers;
        for (const auto &field : m_parser.get())
            headers.emplace_back(field.name_string(), field.value());
        if (const auto onHead = m_handlers.onHead) // a copy: it may cancel
            onHead(static_cast<int>(m_parser.get().result_int()), headers);
        if (m_socket.is_open())
            read();
    }

    void read()
    {
        if (m_parser.is_done()) {
            end({});
            return;
        }
        m_parser.get().body().data = m_piece.data();
        m_parser.get().body().size = m_piece.size();
        http::async_read_some(
            m_socket, m_buffer, m_parser, [self = shared_from_this()](error_code error, std::size_t) {
                if (error == http::error::need_buffer)
                    error = {};
                if (error == http::error::end_of_stream) // an answer that ends with its connection
                    self->m_parser.put_eof(error);
                error ? self->end(error.message()) : self->onPiece();
            });
    }

    void onPiece()
    {
        const std::size_t size = m_piece.size() - m_parser.get().body().size;
        const auto onData = m_handlers.onData;
        const bool isTaken = size == 0 || !onData || onData({m_piece.data(), size});
        if (!m_socket.is_open())
            return;
        if (isTaken)
            read();
        else
            m_isPaused = true;
    }

    void end(const std::string &error)
    {
        close();
        if (const auto onEnd = std::exchange(m_handlers, {}).onEnd)
            onEnd(error);
    }

    void close()
    {
        error_code ignored;
        m_socket.close(ignored);
    }

    asio::ip::tcp::socket m_socket;
    std::string m_host;
    unsigned short m_port = 0;
    http::request<http::string_body> m_request;
    http::response_parser<http::buffer_body> m_parser;
    boost::beast::flat_buffer m_buffer;
    std::array<char, 16 * 1024> m_piece{};
    HttpCallHandlers m_handlers;
    bool m_isPaused = false;
};

} // namespace

std::shared_ptr<HttpCall> HttpCall::start(asio::io_context &io, HttpCallRequest request,
                                          HttpCallHandlers handlers)
{
    auto call = std::make_shared<Call>(io, std::move(request), std::move(handlers));
    call->run();
    return call;
}

} // namespace cluster::local
