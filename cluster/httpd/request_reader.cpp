#include "cluster/httpd/request_reader.h"

#include "cluster/httpd/request_target.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstdint>

namespace http = boost::beast::http;

namespace cluster {

namespace {

/// A body in a string that grows as bytes come. Beast's own takes the memory for all of it at once, on a
/// client's word.
struct PieceBody
{
    using value_type = std::string;

    class reader
    {
    public:
        template<bool isRequest, class Fields>
        reader(http::header<isRequest, Fields> &, value_type &body) : m_body(body)
        {
        }
        void init(const boost::optional<std::uint64_t> &, boost::system::error_code &error) { error = {}; }
        template<class Buffers>
        std::size_t put(const Buffers &buffers, boost::system::error_code &error)
        {
            std::size_t count = 0;
            for (const auto buffer : boost::beast::buffers_range_ref(buffers)) {
                m_body.append(static_cast<const char *>(buffer.data()), buffer.size());
                count += buffer.size();
            }
            error = {};
            return count;
        }
        void finish(boost::system::error_code &error) { error = {}; }

    private:
        value_type &m_body;
    };
};

} // namespace

class RequestReader::Parser : public http::request_parser<PieceBody>
{
};

RequestReader::RequestReader(const ListenerOptions &options)
    : m_parser(std::make_unique<Parser>()), m_options(options)
{
    m_parser->eager(true);
    m_parser->header_limit(static_cast<std::uint32_t>(options.limits.maxHeaderBytes));
    m_parser->body_limit(boost::none); // takeBody has it: a sink may take more
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
        if (input.size() > m_options.limits.maxHeaderBytes)
            return refuse(431, "Request Header Fields Too Large");
        error = {};
    }
    if (error == http::error::header_limit)
        return refuse(431, "Request Header Fields Too Large");
    if (error)
        return refuse(400, "Bad Request: " + error.message());
    if (!m_parser->is_header_done())
        return State::WantsMore;
    if (!m_headerTaken && takeHeader() == State::Refused)
        return State::Refused;
    return takeBody();
}

RequestReader::State RequestReader::takeHeader()
{
    m_headerTaken = true;
    auto &message = m_parser->get();
    m_request.method = std::string(message.method_string());
    if (!isHttp10() && message.count(http::field::host) != 1)
        return refuse(400, "Bad Request: one Host header is needed");
    if (!readTarget(message.target(), m_request))
        return refuse(400, "Bad Request: the path can't be read or leaves its folder");
    for (const auto &field : message)
        m_request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    const auto length = m_parser->content_length();
    const bool hasBody = m_parser->chunked() || (length && *length > 0);
    if (hasBody && m_options.openSink)
        m_request.sink = m_options.openSink(m_request);
    if (!m_request.sink && length && *length > m_options.limits.maxBodyBytes)
        return refuse(413, "Request Entity Too Large");
    return State::WantsMore;
}

RequestReader::State RequestReader::takeBody()
{
    std::string &body = m_parser->get().body();
    if (m_request.sink) {
        m_bodyUnwanted = !body.empty() && !m_request.sink->write(body) && !m_parser->is_done();
        body.clear();
        return m_bodyUnwanted || m_parser->is_done() ? State::Done : State::WantsMore;
    }
    if (body.size() > m_options.limits.maxBodyBytes)
        return refuse(413, "Request Entity Too Large");
    if (!m_parser->is_done())
        return State::WantsMore;
    m_request.body = std::move(body);
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
    return m_parser->keep_alive() && !m_bodyUnwanted;
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
