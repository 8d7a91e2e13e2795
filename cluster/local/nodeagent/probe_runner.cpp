#include "cluster/local/nodeagent/probe_runner.h"

#include "cluster/local/nodeagent/environment.h"
#include "cluster/local/nodeagent/grpc_probe.h"
#include "cluster/local/nodeagent/http_probe.h"
#include "cluster/local/nodeagent/work_pool.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdlib>

namespace cluster::local {

namespace asio = boost::asio;
using boost::system::error_code;
using Kind = ProbeAction::Kind;

namespace {

int portNumber(const std::string &port, const ProbeTarget &target)
{
    for (const auto &[name, number] : target.ports) {
        if (!name.empty() && name == port)
            return number;
    }
    return std::atoi(port.c_str());
}

/// One attempt; whatever comes first of result and time-out counts.
class Attempt : public std::enable_shared_from_this<Attempt>
{
public:
    Attempt(asio::io_context &io, const ProbeAction &action, const ProbeTarget &target,
            std::function<void(ProbeResult)> done)
        : m_io(io), m_action(action), m_target(target), m_done(std::move(done)), m_timer(io), m_socket(io),
          m_port(portNumber(action.port, target))
    {
    }

    void start(std::chrono::milliseconds timeout)
    {
        if (!m_done)
            return; // cancelled meanwhile
        m_timeout = timeout;
        if (m_action.kind == Kind::Sleep)
            timeout = std::min<std::chrono::milliseconds>(timeout, std::chrono::seconds(m_action.seconds));
        m_timer.expires_after(timeout);
        m_timer.async_wait([self = shared_from_this()](error_code error) {
            if (!error)
                self->onTimeout();
        });
        switch (m_action.kind) {
        case Kind::Exec:
            m_target.run(m_action.command, [weak = weak_from_this()](const CommandEnd &end) {
                if (const auto self = weak.lock())
                    self->onCommand(end);
            });
            break;
        case Kind::HttpGet:
            get();
            break;
        case Kind::TcpSocket:
            connect();
            break;
        case Kind::Grpc:
            check();
            break;
        case Kind::Sleep:
            break;
        case Kind::None:
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

    /// Each pod is on the one loopback network: "localhost" in it is its own address.
    [[nodiscard]] std::string address() const
    {
        const bool isOwn = m_action.host.empty() || m_action.host == "localhost";
        return isOwn ? m_target.address : localAddress(m_action.host);
    }

    void onTimeout()
    {
        const auto limit = durationText(std::chrono::duration_cast<std::chrono::seconds>(m_timeout));
        if (m_action.kind == Kind::Sleep) {
            finish({true, {}});
        } else if (m_action.kind == Kind::Exec) {
            std::string words;
            for (const std::string &word : m_action.command)
                words += (words.empty() ? "" : " ") + word;
            timeOut("command timed out: \"" + words + "\" timed out after " + limit);
        } else if (m_action.kind == Kind::HttpGet) {
            timeOut("Get \"" + m_get->url()
                    + "\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
        } else if (m_action.kind == Kind::Grpc) {
            timeOut("timeout: health rpc did not complete within " + limit);
        } else {
            timeOut(goDialError(hostText(), m_port, "i/o timeout"));
        }
    }

    void timeOut(std::string message)
    {
        ProbeResult result{false, std::move(message)};
        result.isTimeout = true;
        finish(std::move(result));
    }

    void onCommand(const CommandEnd &end)
    {
        ProbeResult result{end.exitCode == 0 && end.startError.empty(), end.output};
        if (!end.startError.empty()) {
            result.isUnknown = true;
            result.message
                = "rpc error: code = Unknown desc = failed to exec in container: " + end.startError;
        }
        finish(std::move(result));
    }

    void get()
    {
        HttpProbeRequest request{
            m_action.scheme == "HTTPS", hostText(), address(), m_port, m_action.path, m_action.headers};
        m_get = HttpProbe::make(m_io, std::move(request), [weak = weak_from_this()](HttpProbeAnswer answer) {
            if (const auto self = weak.lock())
                self->onAnswer(answer);
        });
        m_get->start();
    }

    void onAnswer(const HttpProbeAnswer &answer)
    {
        const int status = answer.status;
        if (status == 0) {
            finish({false, answer.error});
        } else if (m_target.isHook || (status >= 200 && status < 300)) {
            finish({true, {}}); // of a hook only whether it could be asked counts
        } else if (status >= 300 && status < 400) {
            ProbeResult result{true, "Probe terminated redirects, Response body: "};
            result.isWarning = true;
            finish(std::move(result));
        } else {
            finish({false, "HTTP probe failed with statuscode: " + std::to_string(status)});
        }
    }

    void connect()
    {
        error_code error;
        const auto target = asio::ip::make_address(address(), error);
        if (error) {
            finish({false, "dial tcp: lookup " + hostText() + ": no such host"});
            return;
        }
        const asio::ip::tcp::endpoint endpoint(target, static_cast<std::uint16_t>(m_port));
        m_socket.async_connect(endpoint, [self = shared_from_this()](error_code failure) {
            if (!failure) {
                self->finish({true, {}});
                return;
            }
            const bool isRefused = failure == asio::error::connection_refused;
            const std::string what = isRefused ? "connect: connection refused" : failure.message();
            self->finish({false, goDialError(self->hostText(), self->m_port, what)});
        });
    }

    void check()
    {
        if (m_target.blocking == nullptr) {
            finish({false, "no threads to ask it on"});
            return;
        }
        GrpcProbeRequest request{m_target.podIp + ":" + std::to_string(m_port), m_target.address, m_port,
                                 m_action.service, m_timeout};
        m_target.blocking->run([weak = weak_from_this(), request = std::move(request),
                                cancel = m_target.blocking->token()]() -> std::function<void()> {
            if (weak.expired())
                return nullptr;
            const ProbeResult result = checkGrpcHealth(request, cancel);
            return [weak, result] {
                if (const auto self = weak.lock())
                    self->finish(result);
            };
        });
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
        m_socket.close(ignored);
        if (m_get)
            m_get->cancel();
    }

    asio::io_context &m_io;
    const ProbeAction m_action;
    const ProbeTarget m_target;
    std::function<void(ProbeResult)> m_done;
    std::chrono::milliseconds m_timeout{};
    asio::steady_timer m_timer;
    asio::ip::tcp::socket m_socket;
    std::shared_ptr<HttpProbe> m_get;
    int m_port = 0;
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
