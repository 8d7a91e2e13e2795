#include "cluster/httpd/http_session.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/status.hpp>
#include <ctime>
#include <exception>

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace cluster {

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kWriteSize = 64 * 1024; // of one write: what the watchdog calls progress
constexpr std::chrono::seconds kLinger{1};

std::string httpDate()
{
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[40];
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return text;
}

std::string hexLength(std::size_t value)
{
    char text[20];
    std::snprintf(text, sizeof text, "%zx", value);
    return text;
}

/// A header that a handler made from foreign text must not add lines of its own.
void appendField(std::string &text, const std::string &name, const std::string &value)
{
    text += name + ": ";
    for (const char c : value)
        text += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
    text += "\r\n";
}

bool hasBody(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

} // namespace

HttpSession::HttpSession(std::unique_ptr<ByteStream> stream, asio::any_io_executor executor, Peer peer,
                         std::shared_ptr<const ListenerOptions> options, HttpListener::Handler handler,
                         std::function<void()> onEnded)
    : m_source(std::make_shared<ReadAhead>(std::move(stream), executor)), m_executor(std::move(executor)),
      m_peer(std::move(peer)), m_options(std::move(options)), m_handler(std::move(handler)),
      m_onEnded(std::move(onEnded)), m_work(m_executor)
{
}

void HttpSession::start()
{
    m_source->start([weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
            if (self->m_source->hasEnded() && self->m_exchange)
                self->m_exchange->disconnect();
            self->wake();
        }
    });
    asio::co_spawn(
        m_executor, [self = shared_from_this()] { return self->run(); }, asio::detached);
}

void HttpSession::close()
{
    if (m_closed)
        return;
    m_closed = true;
    if (m_exchange)
        m_exchange->disconnect();
    m_source->stop();
    wake();
}

void HttpSession::wake()
{
    m_wasWoken = true;
    m_work.cancel();
}

asio::awaitable<bool> HttpSession::sleepUntil(Clock::time_point deadline)
{
    if (m_wasWoken) { // between the look at the state and this call
        m_wasWoken = false;
        co_return false;
    }
    m_work.expires_at(deadline);
    const auto [error] = co_await m_work.async_wait(kTuple);
    m_wasWoken = false;
    co_return !error;
}

asio::awaitable<void> HttpSession::run()
{
    const auto self = shared_from_this();
    for (bool first = true; !m_closed; first = false) {
        const bool goOn = co_await serveOne(first);
        if (!goOn)
            break;
    }
    if (!m_closed && !m_handedOver) {
        co_await linger();
        m_closed = true;
        m_source->stop();
    }
    m_onEnded();
}

asio::awaitable<bool> HttpSession::serveOne(bool first)
{
    RequestReader reader(*m_options);
    const bool isRead = co_await readRequest(reader, first);
    if (!isRead)
        co_return false;
    const auto exchange = makeExchange(reader.release());
    m_exchange = exchange;
    if (m_source->hasEnded())
        exchange->disconnect();
    try {
        m_handler(std::make_shared<ServerExchange>(exchange));
    } catch (const std::exception &) {
        exchange->abandon(); // without the words: they are no client's business
    }
    while (exchange->answer() == ExchangeState::Answer::None && !exchange->isClosed() && !m_closed)
        co_await sleepUntil(Clock::time_point::max());
    bool isWritten = false;
    if (!exchange->isClosed() && !m_closed)
        isWritten = co_await writeAnswer(*exchange, reader);
    m_exchange.reset();
    if (isWritten)
        exchange->finish();
    else
        exchange->disconnect();
    co_return isWritten &&reader.keepAlive() && !m_handedOver;
}

std::shared_ptr<ExchangeState> HttpSession::makeExchange(ServerRequest request)
{
    request.peerCommonName = m_peer.commonName;
    request.localAddress = m_peer.localAddress;
    request.localPort = m_peer.localPort;
    request.isTls = m_options->tls.has_value();
    request.peerAddress = m_peer.remoteAddress;
    auto post = [executor = m_executor](std::function<void()> fn) { asio::post(executor, std::move(fn)); };
    auto wakeUs = [weak = weak_from_this()] {
        if (const auto self = weak.lock())
            self->wake();
    };
    return std::make_shared<ExchangeState>(std::move(request), m_options->limits.maxBacklogBytes,
                                           std::move(post), std::move(wakeUs));
}

asio::awaitable<bool> HttpSession::readRequest(RequestReader &reader, bool first)
{
    const ListenerLimits &limits = m_options->limits;
    auto deadline = Clock::now() + (first ? limits.headerTimeout : limits.idleTimeout);
    bool begun = false;
    bool inBody = false;
    for (;;) {
        const std::size_t before = m_source->input().size();
        const auto state = reader.take(m_source->input());
        m_source->inputTaken();
        if (state == RequestReader::State::Done)
            break;
        if (state == RequestReader::State::Refused) {
            auto [status, words] = reader.refusal();
            co_await refuse(status, std::move(words));
            co_return false;
        }
        if (!begun && before > 0) {
            begun = true;
            deadline = Clock::now() + limits.headerTimeout;
        }
        if (!inBody && reader.hasHeader()) {
            inBody = true;
            deadline = Clock::now() + limits.bodyTimeout;
            if (reader.wantsContinue()) {
                std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
                const bool isWritten = co_await write(std::move(interim));
                if (!isWritten)
                    co_return false;
                continue; // the body may have come meanwhile
            }
        }
        if (inBody && reader.hasSink())
            deadline = Clock::now() + limits.bodyTimeout; // of each piece: the whole may be of any size
        m_isIdle = !begun && !first;
        const std::size_t waiting = m_source->input().size();
        bool isLate = false;
        while (m_source->input().size() == waiting && !m_source->hasEnded() && !m_closed && !isLate)
            isLate = co_await sleepUntil(deadline);
        m_isIdle = false;
        if (isLate && begun) {
            std::string words = "Request Timeout";
            co_await refuse(408, std::move(words));
        }
        if (isLate || m_closed || (m_source->hasEnded() && m_source->input().size() == waiting))
            co_return false; // an idle connection goes without a word
    }
    co_return true;
}

asio::awaitable<bool> HttpSession::writeAnswer(ExchangeState &exchange, const RequestReader &reader)
{
    ServerResponse head = exchange.takeHead();
    const bool isHead = exchange.request.method == "HEAD";
    const std::string connection = !reader.keepAlive() ? "connection: close\r\n"
        : reader.isHttp10()                            ? "connection: keep-alive\r\n"
                                                       : "";
    switch (exchange.answer()) {
    case ExchangeState::Answer::Upgrade: {
        std::string text = headText(head, {});
        co_await handOver(exchange, std::move(text));
        co_return true;
    }
    case ExchangeState::Answer::Stream: {
        const auto length = findHeader(head.headers, "content-length");
        const std::string promised(length.value_or(""));
        const bool chunked = !reader.isHttp10() && promised.empty();
        const bool isFramed = chunked || !promised.empty();
        std::string text = headText(head,
                                    chunked        ? "transfer-encoding: chunked\r\n" + connection
                                        : isFramed ? connection
                                                   : std::string("connection: close\r\n"));
        const bool isWritten = co_await write(std::move(text));
        if (!isWritten)
            co_return false;
        std::uint64_t count = 0;
        const bool isWhole = co_await writeChunks(exchange, chunked, count);
        const bool isPromised = promised.empty() || isHead || promised == std::to_string(count);
        co_return isWhole &&isFramed &&isPromised;
    }
    default: {
        const bool withBody = hasBody(head.status);
        const std::string length
            = withBody ? "content-length: " + std::to_string(head.body.size()) + "\r\n" : "";
        std::string text = headText(head, length + connection);
        if (!isHead && withBody)
            text += head.body;
        const bool isWritten = co_await write(std::move(text));
        co_return isWritten;
    }
    }
}

asio::awaitable<bool> HttpSession::writeChunks(ExchangeState &exchange, bool chunked, std::uint64_t &total)
{
    const bool isHead = exchange.request.method == "HEAD";
    for (;;) {
        if (exchange.isClosed() || m_closed)
            co_return false;
        std::string data = exchange.takeOutput();
        const std::size_t count = data.size();
        if (count > 0) {
            if (chunked)
                data = hexLength(count) + "\r\n" + data + "\r\n";
            if (!isHead) {
                const bool isWritten = co_await write(std::move(data), &exchange);
                if (!isWritten)
                    co_return false;
            }
            exchange.written(count);
            total += count;
        } else if (exchange.isEnded()) {
            break;
        } else {
            co_await sleepUntil(Clock::time_point::max());
        }
    }
    if (exchange.isCut())
        co_return false; // no last chunk: the client must see that this is not the end
    if (!chunked || isHead)
        co_return true;
    std::string last = "0\r\n\r\n";
    const bool isWritten = co_await write(std::move(last));
    co_return isWritten;
}

asio::awaitable<void> HttpSession::handOver(ExchangeState &exchange, std::string head)
{
    const bool isWritten = co_await write(std::move(head));
    const auto handler = exchange.takeUpgrade();
    if (!handler)
        co_return;
    if (!isWritten) {
        handler(fail(ErrorCode::Unavailable, "the client closed the connection before it was upgraded"));
        co_return;
    }
    m_handedOver = true;
    handler(m_source->handOver());
}

/// All of it, in pieces, each of which must get on within the write timeout.
asio::awaitable<bool> HttpSession::write(std::string data, ExchangeState *exchange)
{
    struct Outcome
    {
        std::error_code error;
        bool done = false;
    };
    for (std::size_t at = 0; at < data.size(); at += kWriteSize) {
        if (m_closed || (exchange && exchange->isClosed()))
            co_return false;
        const auto outcome = std::make_shared<Outcome>();
        std::string piece = data.size() <= kWriteSize ? std::move(data) : data.substr(at, kWriteSize);
        const bool isLast = data.empty() || at + kWriteSize >= data.size();
        m_source->stream().write(std::move(piece), [outcome, weak = weak_from_this()](std::error_code error) {
            outcome->error = error;
            outcome->done = true;
            if (const auto self = weak.lock())
                self->wake();
        });
        const auto deadline = Clock::now() + m_options->limits.writeTimeout;
        while (!outcome->done && !m_closed) {
            const bool isLate = co_await sleepUntil(deadline);
            if (isLate && !outcome->done)
                close();
        }
        if (m_closed || outcome->error)
            co_return false;
        if (isLast)
            break;
    }
    co_return true;
}

asio::awaitable<void> HttpSession::refuse(int status, std::string words)
{
    const ServerResponse head{status, {{"content-type", "text/plain; charset=utf-8"}}, {}};
    words += "\n";
    std::string text
        = headText(head, "content-length: " + std::to_string(words.size()) + "\r\nconnection: close\r\n")
        + words;
    co_await write(std::move(text));
}

/// Takes what the client still sends for a moment: closing with unread input would reset the connection, and
/// the answer could be lost on its way.
asio::awaitable<void> HttpSession::linger()
{
    m_source->stream().shutdownWrite();
    const auto deadline = Clock::now() + kLinger;
    bool isLate = false;
    while (!m_source->hasEnded() && !m_closed && !isLate) {
        m_source->input().clear();
        m_source->inputTaken();
        isLate = co_await sleepUntil(deadline);
    }
}

std::string HttpSession::headText(const ServerResponse &head, const std::string &framing) const
{
    const auto reason = http::obsolete_reason(static_cast<http::status>(head.status));
    std::string text = "HTTP/1.1 " + std::to_string(head.status) + " " + std::string(reason) + "\r\n";
    text += "date: " + httpDate() + "\r\nserver: " + m_options->serverName + "\r\n";
    for (const auto &[name, value] : head.headers)
        appendField(text, name, value);
    return text + framing + "\r\n";
}

} // namespace cluster
