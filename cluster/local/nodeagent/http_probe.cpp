#include "cluster/local/nodeagent/http_probe.h"

#include "cluster/base/low_port.h"
#include "cluster/local/nodeagent/environment.h"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <cctype>
#include <cstdlib>

namespace cluster::local {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t longestHead = 16384; ///< of an answer
constexpr int mostRedirects = 10;

std::string goError(const error_code &error)
{
    if (error == asio::error::connection_refused)
        return "connect: connection refused";
    if (error == asio::error::connection_reset)
        return "read: connection reset by peer";
    return error == asio::error::eof || error == asio::ssl::error::stream_truncated ? "EOF" : error.message();
}

bool equalsIgnoringCase(std::string_view left, std::string_view right)
{
    return left.size() == right.size()
        && std::equal(left.begin(), left.end(), right.begin(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

/// A header's value in an answer's head; empty where it has none.
std::string headerOf(std::string_view head, std::string_view name)
{
    for (std::size_t at = head.find("\r\n"); at != std::string_view::npos && at + 2 < head.size();) {
        const std::size_t begin = at + 2;
        at = head.find("\r\n", begin);
        const std::string_view line = head.substr(begin, at == std::string_view::npos ? at : at - begin);
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || !equalsIgnoringCase(line.substr(0, colon), name))
            continue;
        const std::size_t value = line.find_first_not_of(" \t", colon + 1);
        return std::string(value == std::string_view::npos ? std::string_view() : line.substr(value));
    }
    return {};
}

/// Where a Location leads, seen from `from`. False: to another host.
bool follow(HttpProbeRequest &from, const std::string &location)
{
    const bool isHttps = location.starts_with("https://");
    if (!isHttps && !location.starts_with("http://")) {
        const std::size_t folder = from.path.substr(0, from.path.find('?')).rfind('/');
        const bool isRelative = !location.starts_with("/");
        from.path = isRelative ? from.path.substr(0, folder + 1) + location : location;
        return !location.starts_with("//");
    }
    const std::size_t begin = isHttps ? 8 : 7;
    const std::size_t slash = std::min(location.find('/', begin), location.size());
    const std::string authority = location.substr(begin, slash - begin);
    const std::size_t colon = authority.rfind(':');
    if (!equalsIgnoringCase(authority.substr(0, colon), from.host))
        return false;
    from.isTls = isHttps;
    from.port = colon == std::string::npos ? (isHttps ? 443 : 80) : std::atoi(authority.c_str() + colon + 1);
    from.path = slash == location.size() ? "/" : location.substr(slash);
    return true;
}

using TlsSocket = asio::ssl::stream<asio::ip::tcp::socket>;

class Get : public HttpProbe, public std::enable_shared_from_this<Get>
{
public:
    Get(asio::io_context &io, HttpProbeRequest request, std::function<void(HttpProbeAnswer)> done)
        : m_io(io), m_request(std::move(request)), m_done(std::move(done)),
          m_context(asio::ssl::context::tls_client)
    {
        if (!m_request.path.starts_with("/"))
            m_request.path.insert(0, "/");
    }

    void start() override
    {
        m_socket = std::make_shared<TlsSocket>(m_io, m_context);
        error_code error;
        const auto address = asio::ip::make_address(m_request.address, error);
        if (error) {
            finish({0, get() + "dial tcp: lookup " + m_request.host + ": no such host"});
            return;
        }
        connect({address, static_cast<std::uint16_t>(m_request.port)});
    }

    void connect(const asio::ip::tcp::endpoint &endpoint)
    {
        m_socket->next_layer().async_connect(
            endpoint, [self = shared_from_this(), socket = m_socket, endpoint](error_code failure) {
                // Never again for the substitute: it is no low port.
                const std::uint16_t substitute = substituteOfLowPort(endpoint.port());
                if (failure == asio::error::connection_refused && substitute != 0 && self->m_done) {
                    error_code ignored;
                    socket->next_layer().close(ignored);
                    self->connect({endpoint.address(), substitute});
                } else if (failure)
                    self->finish(
                        {0,
                         self->get()
                             + goDialError(self->m_request.host, self->m_request.port, goError(failure))});
                else if (self->m_request.isTls)
                    self->shakeHands();
                else
                    self->send(socket->next_layer(), socket);
            });
    }

    void cancel() override
    {
        m_done = nullptr;
        close();
    }

    [[nodiscard]] std::string url() const override
    {
        return (m_request.isTls ? "https://" : "http://") + m_request.host + ":"
            + std::to_string(m_request.port) + m_request.path;
    }

private:
    [[nodiscard]] std::string get() const { return "Get \"" + url() + "\": "; }

    void shakeHands()
    {
        m_socket->async_handshake(asio::ssl::stream_base::client,
                                  [self = shared_from_this(), socket = m_socket](error_code failure) {
                                      if (failure)
                                          self->fail(failure);
                                      else
                                          self->send(*socket, socket);
                                  });
    }

    void fail(const error_code &error) { finish({0, get() + goError(error)}); }

    [[nodiscard]] std::string requestText() const
    {
        std::string host = m_request.host + ":" + std::to_string(m_request.port);
        std::string agent = "kube-probe/1.34", accept = "*/*", more;
        for (const auto &[name, value] : m_request.headers) {
            if (name.find_first_of("\r\n:") != std::string::npos
                || value.find_first_of("\r\n") != std::string::npos)
                continue;
            if (equalsIgnoringCase(name, "Host"))
                host = value;
            else if (equalsIgnoringCase(name, "User-Agent"))
                agent = value;
            else if (equalsIgnoringCase(name, "Accept"))
                accept = value;
            else
                more += name + ": " + value + "\r\n";
        }
        return "GET " + m_request.path + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: " + agent + "\r\n"
            + (accept.empty() ? "" : "Accept: " + accept + "\r\n") + more + "Connection: close\r\n\r\n";
    }

    /// `keep`: what the stream belongs to.
    template<typename Stream>
    void send(Stream &stream, const std::shared_ptr<TlsSocket> &keep)
    {
        m_text = requestText();
        m_head.clear();
        asio::async_write(stream, asio::buffer(m_text),
                          [self = shared_from_this(), &stream, keep](error_code failure, std::size_t) {
                              if (failure)
                                  self->fail(failure);
                              else
                                  self->read(stream, keep);
                          });
    }

    template<typename Stream>
    void read(Stream &stream, const std::shared_ptr<TlsSocket> &keep)
    {
        stream.async_read_some(
            asio::buffer(m_buffer),
            [self = shared_from_this(), &stream, keep](error_code failure, std::size_t size) {
                self->m_head.append(self->m_buffer.data(), size);
                const std::size_t end = self->m_head.find("\r\n\r\n");
                if (end != std::string::npos)
                    self->judge(end);
                else if (failure)
                    self->fail(failure);
                else if (self->m_head.size() > longestHead)
                    self->finish({0, self->get() + "net/http: server response headers exceeded limit"});
                else
                    self->read(stream, keep);
            });
    }

    void judge(std::size_t end)
    {
        m_head.resize(end);
        const std::size_t space = m_head.find(' ');
        if (!m_head.starts_with("HTTP/1.") || space == std::string::npos) {
            finish({0, get() + "net/http: HTTP/1.x transport connection broken: malformed HTTP response"});
            return;
        }
        const int status = std::atoi(m_head.c_str() + space);
        const std::string location = headerOf(m_head, "Location");
        const bool leads = (status >= 301 && status <= 303) || status == 307 || status == 308;
        if (!leads || location.empty() || !m_done || !follow(m_request, location)) {
            finish({status, {}});
            return;
        }
        close();
        if (++m_redirects >= mostRedirects)
            finish({0, get() + "stopped after 10 redirects"});
        else
            start();
    }

    void finish(HttpProbeAnswer answer)
    {
        const auto done = std::exchange(m_done, nullptr);
        close();
        if (done)
            done(std::move(answer));
    }

    void close()
    {
        error_code ignored;
        if (m_socket)
            m_socket->next_layer().close(ignored);
    }

    asio::io_context &m_io;
    HttpProbeRequest m_request;
    std::function<void(HttpProbeAnswer)> m_done;
    asio::ssl::context m_context; // checks nothing, by default
    std::shared_ptr<TlsSocket> m_socket;
    std::string m_text, m_head;
    std::array<char, 1024> m_buffer{};
    int m_redirects = 0;
};

} // namespace

std::string goDialError(const std::string &host, int port, const std::string &what)
{
    return "dial tcp " + host + ":" + std::to_string(port) + ": " + what;
}

std::shared_ptr<HttpProbe> HttpProbe::make(asio::io_context &io, HttpProbeRequest request,
                                           std::function<void(HttpProbeAnswer)> done)
{
    return std::make_shared<Get>(io, std::move(request), std::move(done));
}

} // namespace cluster::local
