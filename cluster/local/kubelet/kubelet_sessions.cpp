#include "cluster/local/kubelet/kubelet_sessions.h"

#include "cluster/local/kubelet/channel_session.h"
#include "cluster/local/kubelet/command_request.h"
#include "cluster/local/kubelet/exec_session.h"
#include "cluster/local/kubelet/socket_forward.h"
#include "cluster/local/kubelet/spdy_command.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace cluster::local {

namespace {

using namespace std::string_view_literals;

constexpr std::array spdyCommands{"v5.channel.k8s.io"sv, "v4.channel.k8s.io"sv, "v3.channel.k8s.io"sv,
                                  "v2.channel.k8s.io"sv, "channel.k8s.io"sv};
constexpr std::array socketCommands{"v5.channel.k8s.io"sv, "v4.channel.k8s.io"sv};
constexpr std::array spdyForwards{"portforward.k8s.io"sv};
constexpr std::array socketForwards{"SPDY/3.1+portforward.k8s.io"sv, "v4.channel.k8s.io"sv};
constexpr std::string_view spdyHeader = "X-Stream-Protocol-Version";
constexpr std::string_view socketHeader = "Sec-WebSocket-Protocol";

bool isUpgradeTo(const ServerRequest &request, std::string_view protocol)
{
    const std::string_view asked = request.header("Upgrade").value_or("");
    return request.wantsUpgrade() && asked.size() == protocol.size()
        && std::equal(asked.begin(), asked.end(), protocol.begin(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

void refuse(ServerExchange &exchange, int status, std::string text)
{
    exchange.reply({status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(text) + "\n"});
}

void refuseProtocols(ServerExchange &exchange, std::string_view header,
                     std::span<const std::string_view> accepted)
{
    std::string text = "unable to upgrade: unable to negotiate protocol: client supports ["
        + offered(exchange.request(), header) + "], server accepts [";
    for (const std::string_view protocol : accepted)
        text += std::string(protocol == accepted.front() ? "" : " ") + std::string(protocol);
    refuse(exchange, 403, text + "]");
}

ServerResponse switching(const std::string &protocol)
{
    return {
        101, {{"Connection", "Upgrade"}, {"Upgrade", "SPDY/3.1"}, {std::string(spdyHeader), protocol}}, {}};
}

std::vector<std::uint16_t> portsOf(const ServerRequest &request)
{
    std::vector<std::uint16_t> ports;
    for (const char *name : {"port", "ports"}) {
        for (const std::string &value : request.queryValues(name)) {
            std::string_view rest = value;
            while (!rest.empty()) {
                const std::string_view part = rest.substr(0, rest.find(','));
                rest.remove_prefix(std::min(part.size() + 1, rest.size()));
                std::uint16_t port = 0;
                const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), port);
                if (error == std::errc() && end == part.data() + part.size() && port != 0)
                    ports.push_back(port);
            }
        }
    }
    return ports;
}

} // namespace

void replyError(ServerExchange &exchange, const Error &error)
{
    const int status = error.code == ErrorCode::NotFound ? 404
        : error.code == ErrorCode::InvalidArgument       ? 400
        : error.code == ErrorCode::FailedPrecondition    ? 400
        : error.code == ErrorCode::Unimplemented         ? 400
        : error.code == ErrorCode::PermissionDenied      ? 403
                                                         : 500;
    refuse(exchange, status, error.message);
}

KubeletSessions::KubeletSessions(boost::asio::any_io_executor executor, const KubeletServerOptions &options,
                                 PodAccess &pods)
    : m_executor(std::move(executor)), m_options(options), m_pods(pods)
{
}

void KubeletSessions::closeAll()
{
    m_isClosed = true;
    for (const auto &[id, close] : std::exchange(m_open, {}))
        close();
    for (const auto &starting : std::exchange(m_starting, {})) {
        if (const auto process = starting.lock())
            process->reset();
    }
}

std::shared_ptr<std::unique_ptr<ContainerProcess>>
KubeletSessions::keep(std::unique_ptr<ContainerProcess> process)
{
    auto kept = std::make_shared<std::unique_ptr<ContainerProcess>>(std::move(process));
    std::erase_if(m_starting, [](const auto &starting) { return starting.expired(); });
    m_starting.push_back(kept);
    return kept;
}

bool KubeletSessions::refuseIfFull(ServerExchange &exchange) const
{
    const auto starting = std::count_if(m_starting.begin(), m_starting.end(), [](const auto &known) {
        const auto process = known.lock();
        return process && *process; // not yet handed over to an open session
    });
    if (m_open.size() + static_cast<std::size_t>(starting) < m_options.maxSessions)
        return false;
    refuse(exchange, 503,
           "too many exec, attach and port-forward sessions on this kubelet ("
               + std::to_string(m_options.maxSessions) + "): end some and try again");
    return true;
}

std::function<void()> KubeletSessions::endOf(std::uint64_t id)
{
    return [weak = weak_from_this(), id] {
        if (const auto self = weak.lock())
            self->m_open.erase(id);
    };
}

void KubeletSessions::command(const std::shared_ptr<ServerExchange> &exchange, const ContainerRef &ref,
                              const std::string &node, bool isAttach)
{
    if (refuseIfFull(*exchange))
        return;
    const ServerRequest &request = exchange->request();
    const Result<ExecOptions> exec = parseExecOptions(request, isAttach);
    if (!exec) {
        replyError(*exchange, exec.error());
        return;
    }
    const bool isSocket = isUpgradeTo(request, "websocket");
    if (!isSocket && !isUpgradeTo(request, "SPDY/3.1")) {
        refuse(*exchange, 400, "unable to upgrade: missing upgrade headers in request");
        return;
    }
    const std::string_view header = isSocket ? socketHeader : spdyHeader;
    const std::span<const std::string_view> accepted = isSocket
        ? std::span<const std::string_view>(socketCommands)
        : std::span<const std::string_view>(spdyCommands);
    const std::optional<std::string> protocol = negotiated(request, header, accepted);
    if (!protocol) {
        refuseProtocols(*exchange, header, accepted);
        return;
    }
    Result<std::unique_ptr<ContainerProcess>> process = m_pods.exec(ref, node, *exec);
    if (!process) {
        replyError(*exchange, process.error());
        return;
    }
    if (isSocket)
        commandBySocket(exchange, std::move(*process), *exec, *protocol);
    else
        commandBySpdy(exchange, std::move(*process), *exec, *protocol);
}

void KubeletSessions::startCommand(std::uint64_t id, std::unique_ptr<ContainerProcess> process,
                                   RemoteCommand remote, const std::shared_ptr<void> &carrier,
                                   const Close &closeCarrier)
{
    const auto session = std::make_shared<ExecSession>(m_executor, std::move(process), std::move(remote));
    m_open[id] = [session, carrier, closeCarrier] {
        closeCarrier();
        session->stop();
    };
    session->start();
}

void KubeletSessions::commandBySpdy(const std::shared_ptr<ServerExchange> &exchange,
                                    std::unique_ptr<ContainerProcess> process, const ExecOptions &exec,
                                    const std::string &protocol)
{
    const auto kept = keep(std::move(process));
    exchange->upgrade(
        switching(protocol),
        [weak = weak_from_this(), kept, exec, protocol](Result<std::unique_ptr<ByteStream>> carrier) {
            const auto self = weak.lock();
            if (!self || self->m_isClosed || !carrier)
                return;
            const std::uint64_t id = self->m_next++;
            auto command = std::make_shared<std::shared_ptr<SpdyCommand>>();
            SpdyCommand::Events events;
            events.onReady = [weak, kept, id, command](RemoteCommand remote) {
                const auto owner = weak.lock();
                if (owner && *command)
                    owner->startCommand(id, std::move(*kept), std::move(remote), *command,
                                        [carrier = std::weak_ptr(*command)] {
                                            if (const auto open = carrier.lock())
                                                open->close();
                                        });
            };
            events.onEnded = [weak, id] {
                const auto owner = weak.lock();
                if (!owner)
                    return;
                const auto open = owner->m_open.extract(id);
                if (!open.empty())
                    open.mapped()();
            };
            *command = SpdyCommand::start(self->m_executor, std::move(*carrier), exec, protocol,
                                          self->m_options.streamCreationTimeout, std::move(events));
            self->m_open[id] = [held = *command] { held->close(); };
        });
}

void KubeletSessions::commandBySocket(const std::shared_ptr<ServerExchange> &exchange,
                                      std::unique_ptr<ContainerProcess> process, const ExecOptions &exec,
                                      const std::string &protocol)
{
    const auto kept = keep(std::move(process));
    WebSocket::accept(m_executor, exchange, protocol,
                      [weak = weak_from_this(), kept, exec](Result<std::shared_ptr<WebSocket>> socket) {
                          const auto self = weak.lock();
                          if (!self || self->m_isClosed || !socket)
                              return;
                          const std::uint64_t id = self->m_next++;
                          const auto session = std::make_shared<ChannelSession>(
                              self->m_executor, std::move(*socket), [weak, id] {
                                  const auto owner = weak.lock();
                                  if (!owner)
                                      return;
                                  const auto open = owner->m_open.extract(id);
                                  if (!open.empty())
                                      open.mapped()();
                              });
                          RemoteCommand remote;
                          if (exec.hasStdin)
                              remote.in = session->open(0);
                          if (exec.hasStdout)
                              remote.out = session->open(1);
                          if (exec.hasStderr && !exec.tty)
                              remote.err = session->open(2);
                          remote.status = session->open(3);
                          if (exec.tty)
                              remote.resize = session->open(4);
                          remote.finish = [weakSession = std::weak_ptr(session)] {
                              if (const auto open = weakSession.lock())
                                  open->finish();
                          };
                          if (remote.out) // an empty message tells the client that it is connected
                              remote.out->write({}, [](std::error_code) {});
                          session->start();
                          self->startCommand(id, std::move(*kept), std::move(remote), session,
                                             [session] { session->close(); });
                      });
}

void KubeletSessions::portForward(const std::shared_ptr<ServerExchange> &exchange,
                                  const std::string &nameSpace, const std::string &pod)
{
    if (refuseIfFull(*exchange))
        return;
    const ServerRequest &request = exchange->request();
    const Result<std::string> address = m_pods.podAddress(nameSpace, pod);
    if (!address) {
        replyError(*exchange, address.error());
        return;
    }
    const std::optional<Ipv4> parsed = Ipv4::parse(*address);
    if (!parsed) {
        refuse(*exchange, 500, "pod " + nameSpace + "/" + pod + " has no address that can be connected to");
        return;
    }
    PortForwardOptions forward;
    forward.podAddress = *parsed;
    forward.pod = nameSpace + "/" + pod;
    forward.maxStreams = m_options.maxStreams;
    constexpr std::size_t leastBacklog = std::size_t{256} << 10;
    forward.maxBacklog = std::max(leastBacklog, m_options.maxBacklog / m_options.maxSessions);
    forward.pairTimeout = m_options.streamCreationTimeout;
    if (isUpgradeTo(request, "websocket"))
        forwardBySocket(exchange, std::move(forward));
    else if (isUpgradeTo(request, "SPDY/3.1"))
        forwardBySpdy(exchange, std::move(forward));
    else
        refuse(*exchange, 400, "unable to upgrade: missing upgrade headers in request");
}

void KubeletSessions::startForward(std::unique_ptr<ByteStream> carrier, PortForwardOptions forward)
{
    const std::uint64_t id = m_next++;
    const auto open = PortForward::start(m_executor, std::move(carrier), std::move(forward), endOf(id));
    m_open[id] = [open] { open->close(); };
}

void KubeletSessions::forwardBySpdy(const std::shared_ptr<ServerExchange> &exchange,
                                    PortForwardOptions forward)
{
    const std::optional<std::string> protocol = negotiated(exchange->request(), spdyHeader, spdyForwards);
    if (!protocol) {
        refuseProtocols(*exchange, spdyHeader, spdyForwards);
        return;
    }
    exchange->upgrade(switching(*protocol),
                      [weak = weak_from_this(), forward](Result<std::unique_ptr<ByteStream>> carrier) {
                          const auto self = weak.lock();
                          if (self && !self->m_isClosed && carrier)
                              self->startForward(std::move(*carrier), forward);
                      });
}

void KubeletSessions::forwardBySocket(const std::shared_ptr<ServerExchange> &exchange,
                                      PortForwardOptions forward)
{
    const std::optional<std::string> protocol = negotiated(exchange->request(), socketHeader, socketForwards);
    if (!protocol) {
        refuseProtocols(*exchange, socketHeader, socketForwards);
        return;
    }
    const std::vector<std::uint16_t> ports = portsOf(exchange->request());
    const bool isTunnel = *protocol == socketForwards.front();
    if (!isTunnel && ports.empty()) {
        refuse(*exchange, 400, "query parameter \"port\" is required");
        return;
    }
    WebSocket::accept(
        m_executor, exchange, *protocol,
        [weak = weak_from_this(), forward, ports, isTunnel](Result<std::shared_ptr<WebSocket>> socket) {
            const auto self = weak.lock();
            if (!self || self->m_isClosed || !socket)
                return;
            if (isTunnel) {
                self->startForward(makeTunnel(self->m_executor, std::move(*socket)), forward);
                return;
            }
            const std::uint64_t id = self->m_next++;
            const auto open
                = SocketForward::start(self->m_executor, std::move(*socket), forward, ports, self->endOf(id));
            self->m_open[id] = [open] { open->close(); };
        });
}

} // namespace cluster::local
