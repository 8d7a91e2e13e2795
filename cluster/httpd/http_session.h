#pragma once

#include "cluster/httpd/exchange_state.h"
#include "cluster/httpd/http_listener.h"
#include "cluster/httpd/read_ahead.h"
#include "cluster/httpd/request_reader.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

namespace cluster {

/// What a session knows of its connection before the first request.
struct Peer
{
    std::string commonName;
    std::string localAddress;
    unsigned short localPort = 0;
    std::string remoteAddress;
};

/// One connection: requests one after another, each handed to the handler and its answer written.
class HttpSession : public std::enable_shared_from_this<HttpSession>
{
public:
    HttpSession(std::unique_ptr<ByteStream> stream, boost::asio::any_io_executor executor, Peer peer,
                std::shared_ptr<const ListenerOptions> options, HttpListener::Handler handler,
                std::function<void()> onEnded);

    void start();
    void close(); ///< now
    [[nodiscard]] bool isIdle() const { return m_isIdle; } ///< served already, and asked nothing new yet

private:
    using Clock = std::chrono::steady_clock;

    boost::asio::awaitable<void> run();
    boost::asio::awaitable<bool> serveOne(bool first);
    boost::asio::awaitable<bool> readRequest(RequestReader &reader, bool first);
    boost::asio::awaitable<bool> writeAnswer(ExchangeState &exchange, const RequestReader &reader);
    boost::asio::awaitable<bool> writeChunks(ExchangeState &exchange, bool chunked, std::uint64_t &total);
    boost::asio::awaitable<void> handOver(ExchangeState &exchange, std::string head);
    boost::asio::awaitable<bool> write(std::string data, ExchangeState *exchange = nullptr);
    boost::asio::awaitable<void> refuse(int status, std::string words);
    boost::asio::awaitable<void> linger();
    boost::asio::awaitable<bool> sleepUntil(Clock::time_point deadline); ///< false: woken earlier
    std::shared_ptr<ExchangeState> makeExchange(ServerRequest request);
    std::string headText(const ServerResponse &head, const std::string &framing) const;
    void wake();

    std::shared_ptr<ReadAhead> m_source;
    boost::asio::any_io_executor m_executor;
    Peer m_peer;
    std::shared_ptr<const ListenerOptions> m_options;
    HttpListener::Handler m_handler;
    std::function<void()> m_onEnded;
    boost::asio::steady_timer m_work; ///< wakes the coroutine: input, output or an end
    std::shared_ptr<ExchangeState> m_exchange; ///< the one in hand
    bool m_wasWoken = false;
    bool m_closed = false;
    bool m_handedOver = false;
    bool m_isIdle = false;
};

} // namespace cluster
