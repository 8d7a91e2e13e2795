#include "cluster/local/nodeagent/probe_runner.h"

#include "cluster/local/nodeagent/environment.h"

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>

namespace cluster::local {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

int portNumber(const std::string &port, const ProbeTarget &target)
{
    for (const auto &[name, number] : target.ports) {
        if (!name.empty() && name == port)
            return number;
    }
    return std::atoi(port.c_str());
}

std::string goError(const error_code &error)
{
    if (error == asio::error::connection_refused)
        return "connect: connection refused";
    if (error == asio::error::connection_reset)
        return "read: connection reset by peer";
    return error == asio::error::eof ? "EOF" : error.message();
}

/// One attempt; whatever comes first of result and time-out counts.
class Attempt : public std::enable_shared_from_this<Attempt>
{
public:
    Attempt(asio::io_context &io, const ProbeAction &action, const ProbeTarget &target,
            std::function<void(ProbeResult)> done)
        : m_action(action), m_target(target), m_done(std::move(done)), m_timer(io),
          m_context(asio::ssl::context::tls_client), m_stream(io, m_context)
    {
    }

    void start(std::chrono::milliseconds timeout)
    {
        if (!m_done)
            return; // cancelled meanwhile
        m_timeout = timeout;
        if (m_action.kind == ProbeAction::Kind::Sleep)
            timeout = std::chrono::seconds(m_action.seconds);
        m_timer.expires_after(timeout);
        m_timer.async_wait([self = shared_from_this()](error_code error) {
            if (!error)
                self->onTimeout();
        });
        switch (m_action.kind) {
        case ProbeAction::Kind::Exec:
            m_target.run(m_action.command, [weak = weak_from_this()](int code, std::string output) {
                if (const auto self = weak.lock())
                    self->finish({code == 0, std::move(output)});
            });
            break;
        case ProbeAction::Kind::HttpGet:
        case ProbeAction::Kind::TcpSocket:
        case ProbeAction::Kind::Grpc:
            connect();
            break;
        case ProbeAction::Kind::Sleep:
            break;
        case ProbeAction::Kind::None:
            finish({true, {}});
        }
    }

    void cancel()
    {
        m_done = nullptr;
        close();
    }

private:
    [[nodiscard]] std::string hostText() const
    {
        return m_action.host.empty() ? m_target.podIp : m_action.host;
    }
    [[nodiscard]] std::string url() const
    {
        const std::string scheme = m_action.scheme == "HTTPS" ? "https" : "http";
        return "Get \"" + scheme + "://" + hostText() + ":" + std::to_string(m_port) + m_action.path + "\": ";
    }
    [[nodiscard]] bool isHttp() const { return m_action.kind == ProbeAction::Kind::HttpGet; }

    void onTimeout()
    {
        if (m_action.kind == ProbeAction::Kind::Sleep) {
            finish({true, {}});
        } else if (m_action.kind == ProbeAction::Kind::Exec) {
            std::string words;
            for (const std::string &word : m_action.command)
                words += (words.empty() ? "" : " ") + word;
            const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(m_timeout);
            finish({false, "command timed out: \"" + words + "\" timed out after " + durationText(seconds)});
        } else if (isHttp()) {
            finish({false,
                    url() + "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"});
        } else {
            finish({false, "dial tcp " + hostText() + ":" + std::to_string(m_port) + ": i/o timeout"});
        }
    }

    void connect()
    {
        m_port = portNumber(m_action.port, m_target);
        error_code error;
        const std::string host = m_action.host.empty() || m_action.host == "localhost"
            ? m_target.address
            : localAddress(m_action.host);
        const auto address = asio::ip::make_address(host, error);
        if (error) {
            finish({false, "lookup " + host + ": no such host"});
            return;
        }
        const asio::ip::tcp::endpoint endpoint(address, static_cast<std::uint16_t>(m_port));
        m_stream.next_layer().async_connect(endpoint, [self = shared_from_this()](error_code failure) {
            if (failure)
                self->fail(failure, true);
            else if (!self->isHttp())
                self->finish({true, {}});
            else if (self->m_action.scheme == "HTTPS")
                self->shakeHands();
            else
                self->request(self->m_stream.next_layer());
        });
    }

    void shakeHands()
    {
        m_stream.async_handshake(asio::ssl::stream_base::client,
                                 [self = shared_from_this()](error_code failure) {
                                     if (failure)
                                         self->fail(failure, false);
                                     else
                                         self->request(self->m_stream);
                                 });
    }

    void fail(const error_code &error, bool wasDialing)
    {
        const std::string dial
            = wasDialing ? "dial tcp " + hostText() + ":" + std::to_string(m_port) + ": " : "";
        finish({false, (isHttp() ? url() : std::string()) + dial + goError(error)});
    }

    template<typename Stream>
    void request(Stream &stream)
    {
        std::string host = hostText() + ":" + std::to_string(m_port), agent = "kube-probe/1.34",
                    accept = "*/*", more;
        for (const auto &[name, value] : m_action.headers) {
            if (name.find_first_of("\r\n:") != std::string::npos
                || value.find_first_of("\r\n") != std::string::npos)
                continue;
            if (name == "Host")
                host = value;
            else if (name == "User-Agent")
                agent = value;
            else if (name == "Accept")
                accept = value;
            else
                more += name + ": " + value + "\r\n";
        }
        const std::string path = m_action.path.starts_with("/") ? m_action.path : "/" + m_action.path;
        m_request = "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: " + agent
            + "\r\nAccept: " + accept + "\r\n" + more + "Connection: close\r\n\r\n";
        asio::async_write(stream, asio::buffer(m_request),
                          [self = shared_from_this(), &stream](error_code failure, std::size_t) {
                              if (failure)
                                  self->fail(failure, false);
                              else
                                  self->readStatus(stream);
                          });
    }

    template<typename Stream>
    void readStatus(Stream &stream)
    {
        stream.async_read_some(asio::buffer(m_buffer),
                               [self = shared_from_this(), &stream](error_code failure, std::size_t size) {
                                   self->m_answer.append(self->m_buffer.data(), size);
                                   // "HTTP/1.1 200 …"
                                   if (self->m_answer.size() >= 12 && self->m_answer.starts_with("HTTP/"))
                                       self->judge(
                                           std::atoi(self->m_answer.c_str() + self->m_answer.find(' ')));
                                   else if (failure || self->m_answer.size() >= 12)
                                       self->fail(failure ? failure : error_code(asio::error::eof), false);
                                   else
                                       self->readStatus(stream);
                               });
    }

    void judge(int status)
    {
        const bool isGood = status >= 200 && status < 400;
        finish({isGood, isGood ? "" : "HTTP probe failed with statuscode: " + std::to_string(status)});
    }

    void finish(ProbeResult result)
    {
        const auto done = std::exchange(m_done, nullptr);
        close();
        if (done)
            done(std::move(result));
    }

    void close()
    {
        error_code ignored;
        m_timer.cancel();
        m_stream.next_layer().close(ignored);
    }

    const ProbeAction m_action;
    const ProbeTarget m_target;
    std::function<void(ProbeResult)> m_done;
    std::chrono::milliseconds m_timeout{};
    asio::steady_timer m_timer;
    asio::ssl::context m_context; // checks nothing, by default
    asio::ssl::stream<asio::ip::tcp::socket> m_stream;
    int m_port = 0;
    std::string m_request, m_answer;
    std::array<char, 256> m_buffer{};
};

} // namespace

bool ProbeTally::add(bool isSuccess)
{
    m_run = isSuccess == m_last ? m_run + 1 : 1;
    m_last = isSuccess;
    const int threshold = isSuccess ? m_probe.successThreshold : m_probe.failureThreshold;
    if (m_run < threshold)
        return false;
    const bool isNew = m_verdict != isSuccess || m_run == threshold;
    m_verdict = isSuccess;
    return isNew;
}

std::shared_ptr<void> runProbe(asio::io_context &io, const ProbeAction &action, const ProbeTarget &target,
                               std::chrono::milliseconds timeout, std::function<void(ProbeResult)> done)
{
    auto attempt = std::make_shared<Attempt>(io, action, target, std::move(done));
    // Never within this call: the caller may have to go when the result comes.
    asio::post(io, [attempt, timeout] { attempt->start(timeout); });
    return std::shared_ptr<void>(nullptr, [attempt](void *) { attempt->cancel(); });
}

} // namespace cluster::local
