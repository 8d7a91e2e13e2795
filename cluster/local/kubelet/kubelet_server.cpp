#include "cluster/local/kubelet/kubelet_server.h"

#include "cluster/httpd/http_listener.h"
#include "cluster/local/kubelet/command_request.h"
#include "cluster/local/kubelet/kubelet_pages.h"
#include "cluster/local/kubelet/kubelet_sessions.h"
#include "cluster/local/kubelet/log_answer.h"
#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>
#include <utility>

namespace cluster::local {

namespace {

void replyText(ServerExchange &exchange, int status, std::string text)
{
    exchange.reply({status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(text)});
}

void replyJson(ServerExchange &exchange, const nlohmann::json &object)
{
    exchange.reply({200,
                    {{"Content-Type", "application/json"}},
                    object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
}

/// Prometheus' text format.
void replyMetrics(ServerExchange &exchange, std::string text)
{
    exchange.reply({200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, std::move(text)});
}

} // namespace

struct KubeletServer::Private : std::enable_shared_from_this<KubeletServer::Private>
{
    Private(boost::asio::io_context &context, KubeletServerOptions o, PodAccess &access, NodeOfAddress nodes)
        : io(context), options(std::move(o)), pods(access), nodeOfAddress(std::move(nodes)),
          sessions(std::make_shared<KubeletSessions>(io.get_executor(), options, pods))
    {
    }

    boost::asio::io_context &io;
    const KubeletServerOptions options;
    PodAccess &pods;
    NodeOfAddress nodeOfAddress;
    std::shared_ptr<KubeletSessions> sessions;
    std::unique_ptr<HttpListener> listener;
    std::vector<std::weak_ptr<LogAnswer>> logs; // to be stopped before the pods go

    void serve(const std::shared_ptr<ServerExchange> &exchange);
    void serveKnown(const std::shared_ptr<ServerExchange> &exchange, const std::string &node);
    bool serveContainer(const std::shared_ptr<ServerExchange> &exchange, const std::string &node);
    bool servePage(ServerExchange &exchange, const std::string &node);
    void serveLog(const std::shared_ptr<ServerExchange> &exchange, const ContainerRef &ref,
                  const std::string &node);
};

void KubeletServer::Private::serve(const std::shared_ptr<ServerExchange> &exchange)
{
    const ServerRequest &request = exchange->request();
    if (request.peerCommonName.empty()) {
        replyText(*exchange, 401, "Unauthorized\n");
        return;
    }
    if (request.peerCommonName != options.clientName) {
        replyText(*exchange, 403, "Forbidden (user=" + request.peerCommonName + ")\n");
        return;
    }
    // One listener for all nodes: the egress proxy comes from the address of the one that was meant.
    std::string node;
    const std::optional<Ipv4> peer = Ipv4::parse(request.peerAddress);
    if (peer && options.plan.nodes().contains(inCluster(*peer))) {
        const std::optional<std::string> name = nodeOfAddress(inCluster(*peer));
        if (!name) {
            replyText(*exchange, 404, "there is no node " + inCluster(*peer).text() + "\n");
            return;
        }
        node = *name;
    }
    serveKnown(exchange, node);
}

void KubeletServer::Private::serveKnown(const std::shared_ptr<ServerExchange> &exchange,
                                        const std::string &node)
{
    if (serveContainer(exchange, node))
        return;
    if (exchange->request().method != "GET") {
        replyText(*exchange, 405, "Method Not Allowed\n");
        return;
    }
    if (!servePage(*exchange, node))
        replyText(*exchange, 404, "404 page not found\n");
}

bool KubeletServer::Private::serveContainer(const std::shared_ptr<ServerExchange> &exchange,
                                            const std::string &node)
{
    // /what/namespace/pod[/uid][/container]
    const std::vector<std::string> &parts = exchange->request().segments;
    const std::string what = parts.empty() ? "" : parts[0];
    if (what == "portForward" && (parts.size() == 3 || parts.size() == 4)) {
        sessions->portForward(exchange, parts[1], parts[2]);
        return true;
    }
    const bool isLog = what == "containerLogs";
    if ((!isLog && what != "exec" && what != "attach") || parts.size() < 4 || parts.size() > 5)
        return false;
    const ContainerRef ref{parts[1], parts[2], parts.back()};
    if (isLog)
        serveLog(exchange, ref, node);
    else
        sessions->command(exchange, ref, node, what == "attach");
    return true;
}

void KubeletServer::Private::serveLog(const std::shared_ptr<ServerExchange> &exchange,
                                      const ContainerRef &ref, const std::string &node)
{
    const Result<LogOptions> log = parseLogOptions(exchange->request(), std::chrono::system_clock::now());
    if (!log) {
        replyError(*exchange, log.error());
        return;
    }
    std::erase_if(logs, [](const auto &answer) { return answer.expired(); });
    if (logs.size() >= options.maxLogs) {
        replyText(*exchange, 503,
                  "too many logs are being read from this kubelet (" + std::to_string(options.maxLogs)
                      + "): end some and try again\n");
        return;
    }
    Result<std::unique_ptr<LogReader>> reader = pods.openLog(ref, node, *log);
    if (!reader) {
        replyError(*exchange, reader.error());
        return;
    }
    logs.push_back(LogAnswer::start(exchange, std::move(*reader)));
}

bool KubeletServer::Private::servePage(ServerExchange &exchange, const std::string &node)
{
    const std::string &path = exchange.request().path;
    const auto now = std::chrono::system_clock::now();
    if (path == "/healthz" || path == "/healthz/ping" || path == "/healthz/log"
        || path == "/healthz/syncloop")
        replyText(exchange, 200, "ok");
    else if (path == "/pods" || path == "/pods/")
        replyJson(exchange, podList(pods.pods(node), false));
    else if (path == "/runningpods" || path == "/runningpods/")
        replyJson(exchange, podList(pods.pods(node), true));
    else if (path == "/stats/summary" || path == "/stats" || path == "/stats/")
        replyJson(exchange, statsSummary(node, pods.usage(node), now));
    else if (path == "/metrics/resource")
        replyMetrics(exchange, resourceMetrics(pods.usage(node), now));
    else if (path == "/metrics/cadvisor")
        replyMetrics(exchange, cadvisorMetrics(pods.usage(node), now));
    else if (path == "/metrics" || path == "/metrics/probes")
        replyMetrics(exchange, "");
    else if (path == "/configz")
        replyJson(exchange,
                  {{"kubeletconfig",
                    {{"kind", "KubeletConfiguration"},
                     {"apiVersion", "kubelet.config.k8s.io/v1beta1"},
                     {"enableServer", true},
                     {"port", 10250},
                     {"maxPods", 110}}}});
    else
        return false;
    return true;
}

KubeletServer::KubeletServer(boost::asio::io_context &io, KubeletServerOptions options, PodAccess &pods,
                             NodeOfAddress nodeOfAddress)
    : m_p(std::make_shared<Private>(io, std::move(options), pods, std::move(nodeOfAddress)))
{
}

KubeletServer::~KubeletServer()
{
    m_p->listener.reset();
    m_p->sessions->closeAll();
    for (const auto &log : m_p->logs) {
        if (const auto open = log.lock())
            open->stop();
    }
}

Status KubeletServer::listen()
{
    const KubeletServerOptions &wanted = m_p->options;
    if (wanted.clientCaPem.empty() || wanted.clientName.empty())
        return fail(ErrorCode::InvalidArgument, "the kubelet's API needs to know which client it may answer");
    ListenerOptions options;
    options.port = wanted.port;
    options.tls = TlsIdentity{wanted.certificatePem, wanted.keyPem, wanted.clientCaPem, false};
    options.limits.maxConnections = wanted.maxConnections;
    options.limits.maxBodyBytes = 64 * 1024;
    auto listener = HttpListener::open(m_p->io, std::move(options),
                                       [self = m_p->weak_from_this()](const auto &exchange) {
                                           if (const auto server = self.lock())
                                               server->serve(exchange);
                                       });
    if (!listener)
        return tl::unexpected(listener.error());
    m_p->listener = std::move(*listener);
    return {};
}

DialTarget KubeletServer::address() const
{
    constexpr Ipv4 loopback{0x7F000001};
    return {loopback, m_p->listener ? m_p->listener->port() : std::uint16_t{0}, {}};
}

} // namespace cluster::local
