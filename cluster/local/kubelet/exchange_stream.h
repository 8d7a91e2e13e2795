#pragma once

#include "cluster/httpd/byte_stream.h"
#include "cluster/httpd/server_exchange.h"
#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/role.hpp>
#include <functional>
#include <memory>
#include <string>

namespace cluster::local {

/// An upgrade of an HTTP exchange as a stream of Asio's kind. What is written first, up to an empty line, is
/// the head of the answer: it goes through the exchange, and from then on bytes go both ways.
class ExchangeStream
{
public:
    using executor_type = boost::asio::any_io_executor; // NOLINT: a name that Asio asks for
    using Done = std::function<void(boost::system::error_code, std::size_t)>;

    ExchangeStream(boost::asio::any_io_executor executor, std::shared_ptr<ServerExchange> exchange)
        : m_state(std::make_shared<State>(State{std::move(executor), std::move(exchange), nullptr}))
    {
    }

    [[nodiscard]] executor_type get_executor() const { return m_state->executor; } // NOLINT: Asio's

    template<typename Buffers, typename Handler>
    auto async_read_some(const Buffers &buffers, Handler &&handler) // NOLINT: Asio's
    {
        boost::asio::mutable_buffer buffer;
        for (auto it = boost::asio::buffer_sequence_begin(buffers);
             it != boost::asio::buffer_sequence_end(buffers) && buffer.size() == 0; ++it)
            buffer = *it;
        return initiate(std::forward<Handler>(handler),
                        [state = m_state, buffer](Done done) { startRead(*state, buffer, std::move(done)); });
    }

    template<typename Buffers, typename Handler>
    auto async_write_some(const Buffers &buffers, Handler &&handler) // NOLINT: Asio's
    {
        constexpr std::size_t most = 64 * 1024;
        std::string data(std::min(boost::asio::buffer_size(buffers), most), '\0');
        boost::asio::buffer_copy(boost::asio::buffer(data), buffers);
        return initiate(std::forward<Handler>(handler),
                        [state = m_state, data = std::move(data)](Done done) mutable {
                            startWrite(state, std::move(data), std::move(done));
                        });
    }

    void close();

private:
    struct State
    {
        boost::asio::any_io_executor executor;
        std::shared_ptr<ServerExchange> exchange; ///< Null once it is upgraded.
        std::unique_ptr<ByteStream> stream; ///< Null before.
    };

    template<typename Handler, typename Start>
    static auto initiate(Handler &&handler, Start start)
    {
        return boost::asio::async_initiate<Handler, void(boost::system::error_code, std::size_t)>(
            [](auto completion, Start begin) {
                // Done has to be copyable, Beast's handlers are not.
                auto kept = std::make_shared<decltype(completion)>(std::move(completion));
                begin([kept](boost::system::error_code error, std::size_t count) {
                    std::move (*kept)(error, count);
                });
            },
            handler, std::move(start));
    }

    static void startRead(State &state, boost::asio::mutable_buffer buffer, Done done);
    static void startWrite(const std::shared_ptr<State> &state, std::string data, Done done);
    static void upgrade(const std::shared_ptr<State> &state, const std::string &head, Done done);

    std::shared_ptr<State> m_state;
};

// How Beast ends the stream below a WebSocket.
void teardown(boost::beast::role_type role, ExchangeStream &stream, boost::system::error_code &error);

template<typename Handler>
void async_teardown(boost::beast::role_type role, ExchangeStream &stream,
                    Handler &&handler) // NOLINT: Beast's
{
    boost::system::error_code error;
    teardown(role, stream, error);
    boost::asio::post(stream.get_executor(),
                      [kept = std::forward<Handler>(handler), error]() mutable { std::move(kept)(error); });
}

inline void beast_close_socket(ExchangeStream &stream) // NOLINT: Beast's
{
    stream.close();
}

} // namespace cluster::local
