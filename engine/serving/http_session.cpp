#include "engine/serving/http_session.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <ctime>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace engine {

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kReadAhead = 64 * 1024; // of the next requests, while an answer is made
constexpr std::chrono::seconds kLinger{1};
constexpr std::chrono::milliseconds kLookForEnd{200};

bool hasPeerEnded(int socket)
{
    tcp_info info{};
    socklen_t size = sizeof info;
    return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0
        && info.tcpi_state != TCP_ESTABLISHED;
}

std::string httpDate()
{
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[40];
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return text;
}

HttpRequest toRequest(http::request<http::string_body> &&message)
{
    HttpRequest request;
    request.method = std::string(message.method_string());
    std::string target(message.target());
    // An absolute target (proxies send it) is reduced to its path.
    if (const auto scheme = target.find("://"); scheme != std::string::npos && target.front() != '/') {
        const auto slash = target.find('/', scheme + 3);
        target = slash == std::string::npos ? "/" : target.substr(slash);
    }
    const auto mark = target.find('?');
    request.path = target.substr(0, mark);
    if (mark != std::string::npos)
        request.query = target.substr(mark + 1);
    for (const auto &field : message)
        request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    request.body = std::move(message.body());
    return request;
}

std::pair<int, std::string> refusalFor(boost::system::error_code error)
{
    if (error == http::error::body_limit)
        return {413, "Request Entity Too Large"};
    if (error == http::error::header_limit)
        return {431, "Request Header Fields Too Large"};
    return {400, "Invalid HTTP request received."};
}

bool wantsContinue(std::string_view expect)
{
    return equalsIgnoringCase(expect, "100-continue");
}

std::string hexLength(std::size_t value)
{
    char text[20];
    std::snprintf(text, sizeof text, "%zx", value);
    return text;
}

} // namespace

HttpSession::HttpSession(asio::ip::tcp::socket socket, const ServerOptions &options, Hooks hooks)
    : m_socket(std::move(socket)), m_options(options), m_hooks(std::move(hooks)),
      m_work(m_socket.get_executor()), m_space(m_socket.get_executor()), m_watchdog(m_socket.get_executor())
{
}

void HttpSession::start()
{
    boost::system::error_code ignored;
    m_socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    asio::co_spawn(
        m_socket.get_executor(), [self = shared_from_this()] { return self->readLoop(); }, asio::detached);
    asio::co_spawn(
        m_socket.get_executor(), [self = shared_from_this()] { return self->serveLoop(); }, asio::detached);
}

void HttpSession::finishSoon()
{
    m_finishing = true;
    if (!m_exchange)
        close();
}

void HttpSession::close()
{
    if (m_closed)
        return;
    m_closed = true;
    const auto self = shared_from_this();
    if (m_exchange)
        m_exchange->disconnect();
    boost::system::error_code ignored;
    m_socket.close(ignored);
    m_work.cancel();
    m_space.cancel();
    m_watchdog.cancel();
    if (m_hooks.closed)
        m_hooks.closed();
}

asio::awaitable<void> HttpSession::readLoop()
{
    while (!m_closed) {
        if (m_input.size() >= kReadAhead) {
            // What is not read can't tell that the client has gone: the connection's state can.
            m_space.expires_after(kLookForEnd);
            co_await m_space.async_wait(kTuple);
            if (!m_closed && m_input.size() >= kReadAhead && hasPeerEnded(m_socket.native_handle()))
                break;
            continue;
        }
        const auto [error, count] = co_await m_socket.async_read_some(asio::buffer(m_chunk), kTuple);
        if (error)
            break;
        m_input.append(m_chunk.data(), count);
        m_work.cancel();
    }
    m_readEnded = true;
    if (m_exchange)
        m_exchange->disconnect();
    m_work.cancel();
}

void HttpSession::inputArrived()
{
    m_space.cancel();
}

asio::awaitable<bool> HttpSession::awaitInput(Clock::time_point deadline)
{
    while (m_input.empty() && !m_readEnded && !m_closed) {
        m_work.expires_at(deadline);
        const auto [error] = co_await m_work.async_wait(kTuple);
        if (!error)
            co_return false; // the deadline
    }
    co_return !m_input.empty() && !m_closed;
}

asio::awaitable<std::optional<HttpRequest>> HttpSession::readRequest(bool first)
{
    http::request_parser<http::string_body> parser;
    parser.eager(true);
    parser.header_limit(static_cast<std::uint32_t>(m_options.maxHeaderBytes));
    parser.body_limit(m_options.maxBodyBytes);
    const auto idle = first ? m_options.headerTimeout : m_options.keepAliveTimeout;
    m_isIdle = true;
    const bool hasInput = co_await awaitInput(Clock::now() + idle);
    m_isIdle = false;
    if (!hasInput)
        co_return std::nullopt; // an idle connection goes without a word
    auto deadline = Clock::now() + m_options.headerTimeout;
    while (!parser.is_done()) {
        if (!co_await awaitInput(deadline)) {
            if (!m_readEnded && !m_closed)
                co_await refuse(408, "Request Timeout");
            co_return std::nullopt;
        }
        boost::system::error_code error;
        const bool hadHeader = parser.is_header_done();
        const std::size_t used = parser.put(asio::buffer(m_input), error);
        m_input.erase(0, used);
        inputArrived();
        const bool isStuck = error == http::error::need_more && !m_input.empty();
        if (isStuck && m_input.size() > m_options.maxHeaderBytes && !parser.is_header_done())
            error = http::error::header_limit;
        if (error && error != http::error::need_more) {
            co_await refuse(error);
            co_return std::nullopt;
        }
        if (isStuck) {
            const bool hasMore = co_await awaitMoreThan(m_input.size(), deadline);
            if (!hasMore)
                co_return std::nullopt;
        }
        if (parser.is_header_done() && !hadHeader) {
            deadline = Clock::now() + m_options.bodyTimeout;
            if (!parser.is_done() && wantsContinue(parser.get()[http::field::expect])) {
                const bool isWritten = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
                if (!isWritten)
                    co_return std::nullopt;
            }
        }
    }
    m_keepAlive = parser.keep_alive();
    m_http10 = parser.get().version() < 11;
    co_return toRequest(parser.release());
}

/// Nothing of what is there can be used yet. False, with the refusal sent, when no more comes.
asio::awaitable<bool> HttpSession::awaitMoreThan(std::size_t size, Clock::time_point deadline)
{
    while (m_input.size() == size && !m_readEnded && !m_closed) {
        m_work.expires_at(deadline);
        const auto [error] = co_await m_work.async_wait(kTuple);
        if (!error) {
            co_await refuse(408, "Request Timeout");
            co_return false;
        }
    }
    co_return m_input.size() != size;
}

asio::awaitable<void> HttpSession::serveLoop()
{
    bool first = true;
    while (!m_closed) {
        auto request = co_await readRequest(first);
        first = false;
        if (!request)
            break;
        auto exchange = std::make_shared<Exchange>(std::move(*request));
        exchange->setBacklogLimit(m_options.maxStreamBacklogBytes);
        exchange->setWake([weak = weak_from_this()] {
            if (const auto self = weak.lock())
                self->m_work.cancel();
        });
        m_exchange = exchange;
        if (m_readEnded)
            exchange->disconnect();
        m_hooks.handle(makeAnswerHandle(exchange));
        const bool goOn = co_await writeAnswer(*exchange);
        m_exchange.reset();
        if (!goOn)
            exchange->disconnect(); // also cancels what still runs for a client that could not be written to
        if (m_hooks.served)
            m_hooks.served(*exchange);
        if (!goOn || m_finishing)
            break;
    }
    if (!m_closed && !m_readEnded)
        co_await linger();
    close();
}

asio::awaitable<bool> HttpSession::writeAnswer(Exchange &exchange)
{
    while (!exchange.isAnswered() && !exchange.isDisconnected() && !m_closed) {
        m_work.expires_at(Clock::time_point::max());
        co_await m_work.async_wait(kTuple);
    }
    if (exchange.isDisconnected() || m_closed)
        co_return false;
    const bool chunked = exchange.isStream() && !m_http10;
    const bool keepAlive = m_keepAlive && !m_finishing && (chunked || !exchange.isStream());
    std::string text = headText(exchange, chunked, keepAlive);
    const bool isHead = exchange.request().method == "HEAD";
    if (!exchange.isStream()) {
        if (!isHead)
            text += exchange.head().body;
        co_return co_await write(std::move(text)) && keepAlive;
    }
    if (!co_await write(std::move(text)))
        co_return false;
    const bool whole = co_await writeChunks(exchange, chunked);
    co_return whole &&keepAlive;
}

asio::awaitable<bool> HttpSession::writeChunks(Exchange &exchange, bool chunked)
{
    for (;;) {
        if (exchange.isDisconnected() || m_closed)
            co_return false;
        if (exchange.hasOutput()) {
            std::string data = exchange.takeOutput();
            if (chunked)
                data = hexLength(data.size()) + "\r\n" + data + "\r\n";
            if (!co_await write(std::move(data)))
                co_return false;
        } else if (exchange.isFinished()) {
            break;
        } else {
            m_work.expires_at(Clock::time_point::max());
            co_await m_work.async_wait(kTuple);
        }
    }
    if (exchange.isCut())
        co_return false; // no last chunk: the client must see that this is not the end
    if (chunked)
        co_return co_await write("0\r\n\r\n");
    co_return true;
}

asio::awaitable<bool> HttpSession::write(std::string data)
{
    std::size_t done = 0;
    while (done < data.size()) {
        if (m_closed)
            co_return false;
        m_watchdog.expires_after(m_options.writeTimeout);
        m_watchdog.async_wait([weak = weak_from_this()](boost::system::error_code error) {
            const auto self = weak.lock();
            if (!error && self)
                self->close();
        });
        const auto [error, count] = co_await m_socket.async_write_some(
            asio::buffer(data.data() + done, data.size() - done), kTuple);
        m_watchdog.cancel();
        if (error)
            co_return false;
        done += count;
    }
    co_return true;
}

asio::awaitable<void> HttpSession::refuse(boost::system::error_code error)
{
    auto [status, words] = refusalFor(error);
    return refuse(status, std::move(words));
}

asio::awaitable<void> HttpSession::refuse(int status, std::string text)
{
    Exchange exchange{HttpRequest{}};
    exchange.respond({status, {{"content-type", "text/plain; charset=utf-8"}}, std::move(text)});
    const std::string all = headText(exchange, false, false) + exchange.head().body;
    co_await write(all);
}

/// Takes what the client still sends for a moment: closing with unread input would reset the connection, and
/// the answer could be lost on its way.
asio::awaitable<void> HttpSession::linger()
{
    boost::system::error_code ignored;
    m_socket.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    const auto deadline = Clock::now() + kLinger;
    while (!m_readEnded && !m_closed && Clock::now() < deadline) {
        m_input.clear();
        m_space.cancel();
        m_work.expires_at(deadline);
        co_await m_work.async_wait(kTuple);
    }
}

std::string HttpSession::headText(const Exchange &exchange, bool chunked, bool keepAlive) const
{
    const HttpResponse &head = exchange.head();
    const auto reason = http::obsolete_reason(static_cast<http::status>(head.status));
    std::string text = "HTTP/1.1 " + std::to_string(head.status) + " " + std::string(reason) + "\r\n";
    text += "date: " + httpDate() + "\r\nserver: slipway\r\n";
    if (!exchange.isStream() && head.status != 204 && head.status != 304)
        text += "content-length: " + std::to_string(head.body.size()) + "\r\n";
    for (const auto &[name, value] : head.headers)
        text += name + ": " + value + "\r\n";
    if (chunked)
        text += "transfer-encoding: chunked\r\n";
    if (!keepAlive)
        text += "connection: close\r\n";
    else if (m_http10)
        text += "connection: keep-alive\r\n";
    return text + "\r\n";
}

} // namespace engine
