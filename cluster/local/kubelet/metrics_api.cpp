#include "cluster/local/kubelet/metrics_api.h"

#include "cluster/httpd/http_listener.h"
#include "cluster/kube/kube_client.h"
#include "cluster/local/kubelet/metrics_objects.h"
#include <array>
#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <utility>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

constexpr const char *aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

void replyJson(ServerExchange &exchange, const Json &object, int status = 200,
               const std::string &type = "application/json")
{
    exchange.reply(
        {status, {{"Content-Type", type}}, object.dump(-1, ' ', false, Json::error_handler_t::replace)});
}

void replyStatus(ServerExchange &exchange, int code, const std::string &reason, const std::string &message)
{
    replyJson(exchange,
              {{"kind", "Status"},
               {"apiVersion", "v1"},
               {"metadata", Json::object()},
               {"status", "Failure"},
               {"reason", reason},
               {"message", message},
               {"code", code}},
              code);
}

std::string base64(const std::string &text)
{
    std::string encoded(4 * ((text.size() + 2) / 3) + 1, '\0');
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char *>(encoded.data()),
                                     reinterpret_cast<const unsigned char *>(text.data()),
                                     static_cast<int>(text.size()));
    encoded.resize(static_cast<std::size_t>(size));
    return encoded;
}

} // namespace

struct MetricsApi::Private : std::enable_shared_from_this<MetricsApi::Private>
{
    Private(boost::asio::io_context &context, MetricsApiOptions o, PodAccess &access, Nodes n)
        : io(context), options(std::move(o)), pods(access), nodes(std::move(n))
    {
    }

    boost::asio::io_context &io;
    const MetricsApiOptions options;
    PodAccess &pods;
    Nodes nodes;
    std::unique_ptr<HttpListener> listener;
    std::uint16_t port = 0;

    void serve(ServerExchange &exchange);
    bool serveDiscovery(ServerExchange &exchange);
    void serveMetrics(ServerExchange &exchange);
    static void replyItems(ServerExchange &exchange, const std::string &kind, const std::string &name,
                           Json items);
};

void MetricsApi::Private::serve(ServerExchange &exchange)
{
    const ServerRequest &request = exchange.request();
    if (request.peerCommonName.empty() || request.peerCommonName != options.clientName) {
        replyStatus(exchange, 401, "Unauthorized", "Unauthorized");
        return;
    }
    if (request.method != "GET") {
        replyStatus(exchange, 405, "MethodNotAllowed", "metrics can only be read");
        return;
    }
    if (!serveDiscovery(exchange))
        serveMetrics(exchange);
}

bool MetricsApi::Private::serveDiscovery(ServerExchange &exchange)
{
    const ServerRequest &request = exchange.request();
    const std::string &path = request.path;
    const std::string_view accept = request.header("Accept").value_or("");
    if (path == "/healthz" || path == "/readyz" || path == "/livez")
        exchange.reply({200, {{"Content-Type", "text/plain"}}, "ok"});
    else if (path == "/apis" && accept.find("v=v2;as=APIGroupDiscoveryList") != std::string_view::npos)
        replyJson(exchange, metricsDiscovery(), 200, aggregatedType);
    else if (path == "/apis")
        replyJson(exchange, metricsGroupList());
    else if (path == "/apis/metrics.k8s.io")
        replyJson(exchange, metricsGroup());
    else if (path == "/apis/metrics.k8s.io/v1beta1")
        replyJson(exchange, metricsResources());
    else
        return false;
    return true;
}

/// …/nodes[/NAME], …/pods, …/namespaces/NS/pods[/NAME] below /apis/metrics.k8s.io/v1beta1.
void MetricsApi::Private::serveMetrics(ServerExchange &exchange)
{
    const ServerRequest &request = exchange.request();
    std::vector<std::string> parts = request.segments;
    const bool isOurs
        = parts.size() >= 4 && parts[0] == "apis" && parts[1] == "metrics.k8s.io" && parts[2] == "v1beta1";
    if (!isOurs) {
        replyStatus(exchange, 404, "NotFound", "the server could not find the requested resource");
        return;
    }
    parts.erase(parts.begin(), parts.begin() + 3);
    std::string nameSpace;
    if (parts.size() >= 3 && parts[0] == "namespaces") {
        nameSpace = parts[1];
        parts.erase(parts.begin(), parts.begin() + 2);
    }
    const Result<LabelSelector> selector
        = LabelSelector::parse(request.queryValue("labelSelector").value_or(""));
    if (!selector) {
        replyStatus(exchange, 400, "BadRequest", selector.error().message);
        return;
    }
    const std::string name = parts.size() == 2 ? parts[1] : "";
    const auto now = std::chrono::system_clock::now();
    if (parts[0] == "nodes" && parts.size() <= 2 && nameSpace.empty())
        replyItems(exchange, "NodeMetrics", name, nodeMetrics(nodes(), pods.usage(""), *selector, now));
    else if (parts[0] == "pods" && (parts.size() == 1 || (parts.size() == 2 && !nameSpace.empty())))
        replyItems(exchange, "PodMetrics", name,
                   podMetrics(pods.pods(""), pods.usage(""), nameSpace, *selector, now));
    else
        replyStatus(exchange, 404, "NotFound", "the server could not find the requested resource");
}

void MetricsApi::Private::replyItems(ServerExchange &exchange, const std::string &kind,
                                     const std::string &name, Json items)
{
    if (name.empty()) {
        replyJson(exchange, metricsList(kind + "List", std::move(items)));
        return;
    }
    for (const Json &item : items) {
        if (item.at("metadata").at("name") == name) {
            replyJson(exchange, item);
            return;
        }
    }
    const std::string plural = kind == "NodeMetrics" ? "nodes" : "pods";
    replyStatus(exchange, 404, "NotFound", plural + ".metrics.k8s.io \"" + name + "\" not found");
}

MetricsApi::MetricsApi(boost::asio::io_context &io, MetricsApiOptions options, PodAccess &pods, Nodes nodes)
    : m_p(std::make_shared<Private>(io, std::move(options), pods, std::move(nodes)))
{
}

MetricsApi::~MetricsApi()
{
    m_p->listener.reset();
}

Status MetricsApi::listen()
{
    const MetricsApiOptions &wanted = m_p->options;
    if (wanted.clientCaPem.empty())
        return fail(ErrorCode::InvalidArgument, "the metrics API needs to know which client it may answer");
    ListenerOptions options;
    options.address = onThisMachine(wanted.plan.controlPlane()).text();
    options.tls = TlsIdentity{wanted.certificatePem, wanted.keyPem, wanted.clientCaPem, false};
    options.limits.maxBodyBytes = 64 * 1024;
    auto listener = HttpListener::open(m_p->io, std::move(options),
                                       [self = m_p->weak_from_this()](const auto &exchange) {
                                           if (const auto api = self.lock())
                                               api->serve(*exchange);
                                       });
    if (!listener)
        return tl::unexpected(listener.error());
    m_p->listener = std::move(*listener);
    m_p->port = m_p->listener->port();
    return {};
}

std::uint16_t MetricsApi::port() const
{
    return m_p->port;
}

Status MetricsApi::registerWith(KubeClient &client) const
{
    const MetricsApiOptions &known = m_p->options;
    const std::array objects{
        std::pair(coreV1("services", "kube-system", "metrics-server"), metricsService()),
        std::pair(apiGroup("discovery.k8s.io", "v1", "endpointslices", "kube-system", "metrics-server-local"),
                  metricsEndpoints(known.plan.controlPlane().text(), m_p->port)),
        std::pair(apiGroup("apiregistration.k8s.io", "v1", "apiservices", "", "v1beta1.metrics.k8s.io"),
                  metricsApiService(base64(known.caPem)))};
    KubeApplyOptions apply;
    apply.fieldManager = "slipway-local-target";
    apply.force = true;
    for (const auto &[path, object] : objects) {
        if (const auto applied = client.apply(path, object, apply); !applied)
            return tl::unexpected(applied.error());
    }
    return {};
}

} // namespace cluster::local
