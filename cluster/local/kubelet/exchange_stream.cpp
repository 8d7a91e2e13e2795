#include "cluster/local/kubelet/exchange_stream.h"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

namespace cluster::local {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

boost::system::error_code translated(std::error_code error)
{
    if (!error)
        return {};
    if (isEnd(error))
        return asio::error::eof;
    if (error == std::errc::operation_canceled)
        return asio::error::operation_aborted;
    return asio::error::connection_reset;
}

/// What Beast has written of an answer, as the exchange wants it.
Result<ServerResponse> parsedAnswer(const std::string &text)
{
    http::response_parser<http::string_body> parser;
    parser.eager(true);
    boost::system::error_code error;
    parser.put(asio::buffer(text), error);
    if (error || !parser.is_header_done())
        return fail(ErrorCode::Internal, "an answer to a WebSocket handshake that can't be read");
    ServerResponse answer;
    answer.status = static_cast<int>(parser.get().result_int());
    for (const auto &field : parser.get()) {
        if (field.name() != http::field::content_length && field.name() != http::field::connection)
            answer.headers.emplace_back(field.name_string(), field.value());
    }
    if (answer.status == 101)
        answer.headers.emplace_back("Connection", "Upgrade");
    answer.body = parser.get().body();
    return answer;
}

} // namespace

void ExchangeStream::startRead(State &state, asio::mutable_buffer buffer, Done done)
{
    if (!state.stream) {
        asio::post(state.executor, [done = std::move(done)] { done(asio::error::not_connected, 0); });
        return;
    }
    state.stream->readSome(static_cast<char *>(buffer.data()), buffer.size(),
                           [done = std::move(done)](std::error_code error, std::size_t count) {
                               done(translated(error), count);
                           });
}

void ExchangeStream::startWrite(const std::shared_ptr<State> &state, std::string data, Done done)
{
    if (!state->stream) {
        upgrade(state, data, std::move(done));
        return;
    }
    const std::size_t count = data.size();
    state->stream->write(std::move(data), [done = std::move(done), count](std::error_code error) {
        done(translated(error), error ? 0 : count);
    });
}

/// Beast writes its answer, a few hundred bytes, in one piece.
void ExchangeStream::upgrade(const std::shared_ptr<State> &state, const std::string &head, Done done)
{
    const std::size_t count = head.size();
    const auto exchange = std::exchange(state->exchange, nullptr);
    Result<ServerResponse> answer = parsedAnswer(head);
    const auto finish
        = [executor = state->executor, done](boost::system::error_code error, std::size_t size) {
              asio::post(executor, [done, error, size] { done(error, size); });
          };
    if (!exchange || !answer || answer->status != 101) {
        if (exchange && answer)
            exchange->reply(std::move(*answer));
        finish(asio::error::connection_aborted, 0);
        return;
    }
    exchange->upgrade(std::move(*answer), [state, finish, count](Result<std::unique_ptr<ByteStream>> stream) {
        if (stream)
            state->stream = std::move(*stream);
        finish(stream ? boost::system::error_code() : asio::error::connection_reset, stream ? count : 0);
    });
}

void ExchangeStream::close()
{
    if (m_state->stream)
        m_state->stream->close();
}

void teardown(boost::beast::role_type, ExchangeStream &stream, boost::system::error_code &error)
{
    stream.close();
    error = {};
}

} // namespace cluster::local
