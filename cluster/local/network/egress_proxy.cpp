#include "cluster/local/network/egress_proxy.h"

#include "cluster/httpd/http_listener.h"
#include "cluster/local/network/join_set.h"
#include "cluster/local/network/service_table.h"
#include "cluster/local/network/tcp_dialer.h"
#include <boost/asio/io_context.hpp>
#include <charconv>
#include <map>
#include <utility>

namespace cluster::local {

namespace {

constexpr std::uint16_t kubeletPort = 10250; // what our Nodes say in status.daemonEndpoints

tl::unexpected<Error> refused(std::string_view what)
{
    return fail(ErrorCode::PermissionDenied,
                "'" + std::string(what.substr(0, 300)) + "' is no address of this cluster");
}

int httpStatus(ErrorCode code)
{
    switch (code) {
    case ErrorCode::PermissionDenied:
        return 403;
    case ErrorCode::NotFound:
        return 404;
    case ErrorCode::DeadlineExceeded:
        return 504;
    case ErrorCode::ResourceExhausted:
        return 503;
    default:
        return 502;
    }
}

void refuse(ServerExchange &exchange, const Error &error)
{
    exchange.reply({httpStatus(error.code), {{"Content-Type", "text/plain"}}, error.message + "\n"});
}

} // namespace

Result<DialTarget> egressTarget(std::string_view hostAndPort, const EgressProxyOptions &options,
                                const ServiceTable &services)
{
    const std::size_t colon = hostAndPort.rfind(':');
    if (colon == std::string_view::npos)
        return refused(hostAndPort);
    const std::string_view host = hostAndPort.substr(0, colon);
    const std::string_view digits = hostAndPort.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size() || port == 0)
        return refused(hostAndPort);

    const std::optional<Ipv4> address = Ipv4::parse(host);
    if (!address) {
        Result<DialTarget> target = services.resolve(host, port);
        if (!target && target.error().code == ErrorCode::NotFound)
            return refused(hostAndPort);
        return target;
    }
    if (options.plan.services().contains(*address))
        return services.resolve(*address, port);
    if (!options.plan.contains(*address))
        return refused(hostAndPort);
    const bool isNode = options.plan.nodes().contains(*address) && *address != options.plan.controlPlane();
    if (isNode && port == kubeletPort)
        return DialTarget{options.kubelet.address, options.kubelet.port, onThisMachine(*address)};
    return DialTarget{onThisMachine(*address), port, {}};
}

struct EgressProxy::Private : std::enable_shared_from_this<EgressProxy::Private>
{
    Private(boost::asio::io_context &context, EgressProxyOptions o, const ServiceTable &table)
        : io(context), options(std::move(o)), services(table)
    {
    }

    boost::asio::io_context &io;
    const EgressProxyOptions options;
    const ServiceTable &services;
    std::unique_ptr<HttpListener> listener;
    JoinSet joins;
    std::size_t dialling = 0;
    bool isClosed = false;

    void serve(const std::shared_ptr<ServerExchange> &exchange);
    void close();
};

void EgressProxy::Private::serve(const std::shared_ptr<ServerExchange> &exchange)
{
    const ServerRequest &request = exchange->request();
    if (request.method != "CONNECT") {
        exchange->reply({405, {{"Allow", "CONNECT"}}, "only CONNECT\n"});
        return;
    }
    if (joins.size() + dialling >= options.maxConnections) {
        refuse(*exchange, {ErrorCode::ResourceExhausted, "too many connections into the cluster"});
        return;
    }
    const Result<DialTarget> target = egressTarget(request.target, options, services);
    if (!target) {
        refuse(*exchange, target.error());
        return;
    }
    ++dialling;
    dial(io.get_executor(), *target, options.connectTimeout,
         [self = weak_from_this(), exchange](Result<std::unique_ptr<ByteStream>> stream) {
             const auto proxy = self.lock();
             if (!proxy || proxy->isClosed)
                 return;
             --proxy->dialling;
             if (!stream) {
                 refuse(*exchange, stream.error());
                 return;
             }
             auto server = std::make_shared<std::unique_ptr<ByteStream>>(std::move(*stream));
             exchange->upgrade({200, {}, {}}, [self, server](Result<std::unique_ptr<ByteStream>> client) {
                 const auto owner = self.lock();
                 if (owner && !owner->isClosed && client)
                     owner->joins.start(std::move(*client), std::move(*server));
             });
         });
}

void EgressProxy::Private::close()
{
    isClosed = true;
    listener.reset();
    joins.closeAll();
}

EgressProxy::EgressProxy(boost::asio::io_context &io, EgressProxyOptions options,
                         const ServiceTable &services)
    : m_p(std::make_shared<Private>(io, std::move(options), services))
{
}

EgressProxy::~EgressProxy()
{
    m_p->close();
}

Status EgressProxy::listen()
{
    ListenerOptions options;
    options.unixPath = m_p->options.socketPath;
    options.limits.maxHeaderBytes = 8 * 1024;
    options.limits.maxBodyBytes = 0;
    options.limits.maxConnections = m_p->options.maxConnections;
    options.limits.headerTimeout = m_p->options.headTimeout;
    auto listener = HttpListener::open(m_p->io, std::move(options),
                                       [self = m_p->weak_from_this()](const auto &exchange) {
                                           if (const auto proxy = self.lock())
                                               proxy->serve(exchange);
                                       });
    if (!listener)
        return tl::unexpected(listener.error());
    m_p->listener = std::move(*listener);
    return {};
}

std::size_t EgressProxy::openConnections() const
{
    return m_p->joins.size();
}

} // namespace cluster::local
