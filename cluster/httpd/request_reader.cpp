#include "cluster/httpd/request_reader.h"

#include "cluster/httpd/request_target.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace http = boost::beast::http;

namespace cluster {

class RequestReader::Parser : public http::request_parser<http::string_body>
{
};

RequestReader::RequestReader(const ListenerLimits &limits)
    : m_parser(std::make_unique<Parser>()), m_limits(limits)
{
    m_parser->eager(true);
    m_parser->header_limit(static_cast<std::uint32_t>(limits.maxHeaderBytes));
    m_parser->body_limit(limits.maxBodyBytes);
}

RequestReader::~RequestReader() = default;

RequestReader::State RequestReader::take(std::string &input)
{
    if (input.empty())
        return State::WantsMore;
    boost::system::error_code error;
    const std::size_t used = m_parser->put(boost::asio::buffer(input), error);
    input.erase(0, used);
    if (error == http::error::need_more) {
        // The parser wants a header, or the line before a chunk, in one piece: what it leaves is one.
        if (input.size() > m_limits.maxHeaderBytes)
            return refuse(431, "Request Header Fields Too Large");
        error = {};
    }
    if (error == http::error::body_limit)
        return refuse(413, "Request Entity Too Large");
    if (error == http::error::header_limit)
        return refuse(431, "Request Header Fields Too Large");
    if (error)
        return refuse(400, "Bad Request: " + error.message());
    return m_parser->is_done() ? check() : State::WantsMore;
}

RequestReader::State RequestReader::check()
{
    auto &message = m_parser->get();
    m_request.method = std::string(message.method_string());
    if (!isHttp10() && message.count(http::field::host) != 1)
        return refuse(400, "Bad Request: one Host header is needed");
    if (!readTarget(message.target(), m_request))
        return refuse(400, "Bad Request: the path can't be read or leaves its folder");
    for (const auto &field : message)
        m_request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    m_request.body = std::move(message.body());
    return State::Done;
}

RequestReader::State RequestReader::refuse(int status, std::string words)
{
    m_refusal = {status, std::move(words)};
    return State::Refused;
}

bool RequestReader::hasHeader() const
{
    return m_parser->is_header_done();
}

bool RequestReader::wantsContinue() const
{
    return hasHeader() && !m_parser->is_done()
        && boost::beast::iequals(m_parser->get()[http::field::expect], "100-continue");
}

bool RequestReader::keepAlive() const
{
    return m_parser->keep_alive();
}

bool RequestReader::isHttp10() const
{
    return m_parser->get().version() < 11;
}

std::pair<int, std::string> RequestReader::refusal() const
{
    return m_refusal;
}

ServerRequest RequestReader::release()
{
    return std::move(m_request);
}

} // namespace cluster
