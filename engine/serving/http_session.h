#pragma once

#include "engine/serving/exchange.h"
#include "engine/serving/server_options.h"
#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace engine {

/// One connection: reads requests one after another (also pipelined ones), hands each to the handler, and
/// writes its answer. Reads on while an answer is made, so that a client that goes is noticed at once.
class HttpSession : public std::enable_shared_from_this<HttpSession>
{
public:
    struct Hooks
    {
        std::function<void(const ExchangePtr &)> handle; ///< Must answer through the exchange, now or later.
        std::function<void(const Exchange &)> served; ///< After an answer was written or given up.
        std::function<void()> closed; ///< Once.
    };

    HttpSession(boost::asio::ip::tcp::socket socket, const ServerOptions &options, Hooks hooks);

    void start();
    void finishSoon(); ///< Ends after the running answer; at once if there is none.
    void close(); ///< Now.
    [[nodiscard]] bool isIdle() const
    {
        return m_isIdle && m_input.empty();
    } ///< Between requests, or before the first.

private:
    using Clock = std::chrono::steady_clock;

    boost::asio::awaitable<void> readLoop();
    boost::asio::awaitable<void> serveLoop();
    boost::asio::awaitable<std::optional<HttpRequest>> readRequest(bool first);
    boost::asio::awaitable<bool> awaitInput(Clock::time_point deadline);
    boost::asio::awaitable<bool> awaitMoreThan(std::size_t size, Clock::time_point deadline);
    boost::asio::awaitable<bool> writeAnswer(Exchange &exchange);
    boost::asio::awaitable<bool> writeChunks(Exchange &exchange, bool chunked);
    boost::asio::awaitable<bool> write(std::string data);
    boost::asio::awaitable<void> refuse(int status, std::string text);
    boost::asio::awaitable<void> refuse(boost::system::error_code error); ///< Of the parser.
    boost::asio::awaitable<void> linger();
    std::string headText(const Exchange &exchange, bool chunked, bool keepAlive) const;
    void inputArrived();

    boost::asio::ip::tcp::socket m_socket;
    const ServerOptions &m_options;
    Hooks m_hooks;
    boost::asio::steady_timer m_work; ///< Wakes the serve loop: input, output or an end.
    boost::asio::steady_timer m_space; ///< Wakes the read loop: there is room for input again.
    boost::asio::steady_timer m_watchdog; ///< Cuts a write that makes no progress.
    std::array<char, 16 * 1024> m_chunk;
    std::string m_input;
    ExchangePtr m_exchange;
    bool m_readEnded = false;
    bool m_closed = false;
    bool m_finishing = false;
    bool m_isIdle = false;
    bool m_keepAlive = false; ///< As the request in hand wants it.
    bool m_http10 = false;
};

} // namespace engine
