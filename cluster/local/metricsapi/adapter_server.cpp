#include "cluster/local/metricsapi/adapter_server.h"

#include "cluster/base/low_port.h"
#include "cluster/httpd/http_listener.h"
#include "cluster/kube/kube_client.h"
#include "cluster/local/metricsapi/adapter_pages.h"
#include "cluster/local/metricsapi/metric_route.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace cluster::local {

namespace {

using nlohmann::json;

constexpr std::size_t workers = 4;
constexpr const char *aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

void replyJson(ServerExchange &exchange, const json &object, int status = 200,
               const std::string &type = "application/json")
{
    exchange.reply(
        {status, {{"Content-Type", type}}, object.dump(-1, ' ', false, json::error_handler_t::replace)});
}

void replyFailure(ServerExchange &exchange, const ApiFailure &failure)
{
    replyJson(exchange, failure.toStatus(), failure.code);
}

bool isHealth(const std::string &path)
{
    return path == "/healthz" || path == "/readyz" || path == "/livez";
}

} // namespace

struct AdapterServer::Private : std::enable_shared_from_this<AdapterServer::Private>
{
    Private(boost::asio::io_context &context, AdapterServerOptions given, MetricsProvider metrics,
            KubeClient &client)
        : io(context), options(std::move(given)), provider(std::move(metrics)), review(client, options.proxy)
    {
    }

    boost::asio::io_context &io;
    const AdapterServerOptions options;
    const MetricsProvider provider;
    RequestReview review;
    std::unique_ptr<HttpListener> listener;
    boost::asio::thread_pool pool{workers};

    void serve(const std::shared_ptr<ServerExchange> &exchange);
    void answer(ServerExchange &exchange);
    Result<std::unique_ptr<HttpListener>> open(std::uint16_t port);
};

void AdapterServer::Private::serve(const std::shared_ptr<ServerExchange> &exchange)
{
    if (isHealth(exchange->request().path)) { // anybody may know
        exchange->reply({200, {{"Content-Type", "text/plain; charset=utf-8"}}, "ok"});
        return;
    }
    boost::asio::post(pool, [self = shared_from_this(), exchange] { self->answer(*exchange); });
}

void AdapterServer::Private::answer(ServerExchange &exchange)
{
    const ServerRequest &request = exchange.request();
    const auto route = metricRoute(request);
    const bool isServed = !route || (route->custom ? options.servesCustom : options.servesExternal);
    if (const auto allowed = review.check(request, route ? &*route : nullptr); !allowed)
        return replyFailure(exchange, allowed.error());
    if (request.method != "GET")
        return replyFailure(
            exchange,
            {405, "MethodNotAllowed", "the server does not allow this method on the requested resource"});
    if (route && isServed) {
        const auto list
            = route->custom ? provider.custom(*route->custom) : provider.external(*route->external);
        return list ? replyJson(exchange, *list) : replyFailure(exchange, list.error());
    }
    const std::string_view accept = request.header("Accept").value_or("");
    const bool isAggregated
        = request.path == "/apis" && accept.find("v=v2;as=APIGroupDiscoveryList") != std::string_view::npos;
    if (const auto page = adapterDiscovery(request.path, isAggregated))
        return replyJson(exchange, *page, 200, isAggregated ? aggregatedType : "application/json");
    replyFailure(exchange, {404, "NotFound", "the server could not find the requested resource"});
}

Result<std::unique_ptr<HttpListener>> AdapterServer::Private::open(std::uint16_t port)
{
    ListenerOptions wanted;
    wanted.address = options.address;
    wanted.port = port;
    wanted.tls = TlsIdentity{options.certificatePem, options.keyPem, options.proxy.caPem, false};
    wanted.limits.maxBodyBytes = 64 * 1024;
    return HttpListener::open(io, std::move(wanted), [self = weak_from_this()](const auto &exchange) {
        if (const auto server = self.lock())
            server->serve(exchange);
    });
}

AdapterServer::AdapterServer(boost::asio::io_context &io, AdapterServerOptions options,
                             MetricsProvider provider, KubeClient &client)
    : m_p(std::make_shared<Private>(io, std::move(options), std::move(provider), client))
{
}

AdapterServer::~AdapterServer()
{
    m_p->listener.reset();
    m_p->pool.join();
}

Status AdapterServer::listen()
{
    auto listener = m_p->open(m_p->options.port);
    const std::uint16_t substitute = substituteOfLowPort(m_p->options.port);
    if (!listener && listener.error().code == ErrorCode::PermissionDenied && substitute != 0)
        listener = m_p->open(substitute);
    if (!listener)
        return tl::unexpected(listener.error());
    m_p->listener = std::move(*listener);
    return {};
}

std::uint16_t AdapterServer::port() const
{
    return m_p->listener ? m_p->listener->port() : 0;
}

} // namespace cluster::local
