#include "cluster/local/runtimes/ray/serve_proxy.h"

#include "cluster/local/runtimes/ray/relay.h"

namespace cluster::local {

using nlohmann::json;

namespace {

ServerResponse plainText(int status, const std::string &text, const std::string &requestId)
{
    return {status, {{"content-type", "text/plain; charset=utf-8"}, {"x-request-id", requestId}}, text};
}

/// Counts one request when it is over, wherever that is: also when it never reached a replica.
class CountedRequest
{
public:
    CountedRequest(std::shared_ptr<ProxyCounts> counts, ProxyKey key)
        : m_counts(std::move(counts)), m_key(std::move(key)), m_begun(RayClock::now())
    {
        ++m_counts->ongoing;
        m_key.status = 499; // the client went, as Serve counts it
    }
    ~CountedRequest()
    {
        --m_counts->ongoing;
        m_counts->add(std::move(m_key), RayClock::now() - m_begun);
    }
    CountedRequest(const CountedRequest &) = delete;
    CountedRequest &operator=(const CountedRequest &) = delete;
    void setStatus(int status)
    {
        if (status != 0)
            m_key.status = status;
    }

private:
    std::shared_ptr<ProxyCounts> m_counts;
    ProxyKey m_key;
    RayClock::time_point m_begun;
};

} // namespace

ServeHttpProxy::ServeHttpProxy(boost::asio::io_context &io, std::string address,
                               std::function<void()> onReady)
    : m_io(io), m_address(std::move(address)), m_onReady(std::move(onReady))
{
}

ServeHttpProxy::~ServeHttpProxy() = default;

Status ServeHttpProxy::apply(ServeProxyPlan plan)
{
    m_plan = std::move(plan);
    std::map<std::string, std::shared_ptr<TargetPool>> pools;
    for (const ServeRoute &route : m_plan.routes) {
        const auto known = m_pools.find(route.app);
        auto pool = known == m_pools.end() ? std::make_shared<TargetPool>() : known->second;
        pools[route.app] = pool;
        pool->setTargets(route.targets);
    }
    m_pools = std::move(pools); // whoever waits at one that has gone is answered 500
    if (!m_plan.isOn) {
        m_listener.reset();
        return {};
    }
    if (m_listener)
        return {};
    ListenerOptions options;
    options.address = m_address;
    options.port = m_plan.port;
    options.serverName = "slipway-ray";
    options.limits.maxConnections = 2048;
    auto listener
        = HttpListener::open(m_io, std::move(options), [this](const auto &exchange) { handle(exchange); });
    if (!listener)
        return tl::unexpected(listener.error());
    m_listener = std::move(*listener);
    m_onReady();
    return {};
}

unsigned short ServeHttpProxy::port() const
{
    return m_listener ? m_listener->port() : 0;
}

const ServeRoute *ServeHttpProxy::routeOf(const std::string &path) const
{
    const ServeRoute *found = nullptr;
    for (const ServeRoute &route : m_plan.routes) {
        const bool isBelow
            = route.prefix == "/" || path == route.prefix || path.starts_with(route.prefix + "/");
        if (isBelow && (found == nullptr || found->prefix.size() < route.prefix.size()))
            found = &route;
    }
    return found;
}

void ServeHttpProxy::handle(const std::shared_ptr<ServerExchange> &exchange)
{
    const ServerRequest &request = exchange->request();
    const std::string requestId(request.header("x-request-id").value_or(randomUuid()));
    if (request.path == "/-/healthz" || request.path == "/-/routes") {
        if (m_plan.isDraining) {
            exchange->reply(plainText(503, "This node is being drained.", requestId));
        } else if (!m_plan.isPopulated) {
            exchange->reply(plainText(503, "Route table is not populated yet.", requestId));
        } else if (request.path == "/-/healthz") {
            exchange->reply(plainText(200, "success", requestId));
        } else {
            json routes = json::object();
            for (const ServeRoute &route : m_plan.routes)
                routes[route.prefix] = route.app;
            exchange->reply({200,
                             {{"content-type", "application/json"}, {"x-request-id", requestId}},
                             routes.dump(-1, ' ', false, json::error_handler_t::replace)});
        }
        return;
    }
    if (const ServeRoute *route = routeOf(request.path)) {
        forward(exchange, *route, requestId);
        return;
    }
    m_counts->add({"", request.method, "/", 404}, std::chrono::milliseconds(0));
    exchange->reply(plainText(404,
                              "Path '" + request.path + "' not found. Please ping http://" + m_address + ":"
                                  + std::to_string(port()) + "/-/routes for route table.",
                              requestId));
}

void ServeHttpProxy::forward(const std::shared_ptr<ServerExchange> &exchange, const ServeRoute &route,
                             const std::string &requestId)
{
    const ServerRequest &request = exchange->request();
    const auto counted
        = std::make_shared<CountedRequest>(m_counts, ProxyKey{route.app, request.method, request.path, 0});
    RelayOptions options;
    options.target = targetBelow(request, route.prefix);
    options.headers = {{"x-request-id", requestId}};
    options.answerHeaders = {{"x-request-id", requestId}};
    options.onDone = [counted](int status) { counted->setStatus(status); };
    m_pools[route.app]->acquire(
        "", [exchange] { return !exchange->isClosed(); },
        [&io = m_io, exchange, options](std::shared_ptr<TargetLease> lease) {
            relay(io, exchange, std::move(lease), options);
        });
}

} // namespace cluster::local
