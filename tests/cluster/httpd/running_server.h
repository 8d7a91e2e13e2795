#pragma once

#include "cluster/httpd/http_listener.h"
#include "tests/cluster/httpd/raw_client.h"

#include <QTest>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <string>
#include <thread>

namespace tests {

using ExchangePtr = std::shared_ptr<cluster::ServerExchange>;

/// A listener with a thread of its own.
class RunningServer
{
public:
    explicit RunningServer(cluster::HttpListener::Handler handler, cluster::ListenerOptions options = {})
    {
        auto opened = cluster::HttpListener::open(m_io, std::move(options), std::move(handler));
        if (!opened)
            qFatal("%s", opened.error().message.c_str());
        m_listener = std::move(*opened);
        m_thread = std::thread([this] { m_io.run(); });
    }
    ~RunningServer()
    {
        boost::asio::post(m_io, [this] { m_listener.reset(); });
        m_thread.join(); // ends by itself: nothing is left to do once all is closed
    }
    RawClient client() const { return RawClient::tcp(m_listener->port()); }
    unsigned short port() const { return m_listener->port(); }

private:
    boost::asio::io_context m_io;
    std::unique_ptr<cluster::HttpListener> m_listener;
    std::thread m_thread;
};

inline void echo(const ExchangePtr &exchange)
{
    const cluster::ServerRequest &request = exchange->request();
    exchange->reply({200, {{"x-method", request.method}}, request.path + "|" + request.body});
}

inline std::string request(const std::string &target, const std::string &more = {},
                           const std::string &body = {})
{
    return (body.empty() ? "GET " : "POST ") + target + " HTTP/1.1\r\nHost: h\r\n" + more + "\r\n" + body;
}

inline bool startsWith(const std::string &text, const std::string &start)
{
    return text.compare(0, start.size(), start) == 0;
}

inline std::string bodyOf(const std::string &answer)
{
    const auto at = answer.find("\r\n\r\n");
    return at == std::string::npos ? std::string() : answer.substr(at + 4);
}

/// Sends back what comes, until the end.
inline void echoBytes(std::shared_ptr<cluster::ByteStream> stream)
{
    const auto buffer = std::make_shared<std::array<char, 1000>>();
    stream->readSome(buffer->data(), buffer->size(),
                     [stream, buffer](std::error_code error, std::size_t count) {
                         if (error)
                             return;
                         stream->write(std::string(buffer->data(), count), [stream](std::error_code failed) {
                             if (!failed)
                                 echoBytes(stream);
                         });
                     });
}

} // namespace tests
