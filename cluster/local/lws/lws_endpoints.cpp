#include "cluster/local/lws/lws_endpoints.h"

#include "cluster/httpd/http_listener.h"
#include "cluster/local/lws/lws_admission.h"
#include "cluster/local/lws/metrics_gate.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace cluster::local {

namespace {

void replyText(ServerExchange &exchange, int status, const std::string &words)
{
    exchange.reply({status, {{"Content-Type", "text/plain; charset=utf-8"}}, words});
}

int statusOf(const Error &error)
{
    if (error.code == ErrorCode::Unauthenticated)
        return 401;
    return error.code == ErrorCode::PermissionDenied ? 403 : 500;
}

} // namespace

struct LwsEndpoints::Private : std::enable_shared_from_this<LwsEndpoints::Private>
{
    Private(boost::asio::io_context &context, LwsEndpointOptions given, LwsCounters &counted,
            KubeClient &kube)
        : io(context), options(std::move(given)), counters(counted), client(kube)
    {
    }

    using Serve = void (Private::*)(const std::shared_ptr<ServerExchange> &);
    Result<std::unique_ptr<HttpListener>> open(unsigned short port, const PemPair *certificate, Serve serve);
    void probe(const std::shared_ptr<ServerExchange> &exchange);
    void admit(const std::shared_ptr<ServerExchange> &exchange);
    void measure(const std::shared_ptr<ServerExchange> &exchange);

    boost::asio::io_context &io;
    const LwsEndpointOptions options;
    LwsCounters &counters;
    KubeClient &client;
    CancelSource cancel;
    std::unique_ptr<HttpListener> probes, webhooks, metrics;
    boost::asio::thread_pool readers{1};
};

Result<std::unique_ptr<HttpListener>> LwsEndpoints::Private::open(unsigned short port,
                                                                  const PemPair *certificate, Serve serve)
{
    ListenerOptions listener;
    listener.address = options.address;
    listener.port = port;
    listener.serverName = "slipway-lws";
    listener.limits.maxBodyBytes = std::size_t{8} << 20; // a review has an object of 3 MiB at most, twice
    listener.limits.maxConnections = 64;
    if (certificate != nullptr)
        listener.tls = TlsIdentity{certificate->certificate, certificate->key, {}, false};
    return HttpListener::open(io, std::move(listener),
                              [weak = weak_from_this(), serve](const auto &exchange) {
                                  if (const auto self = weak.lock())
                                      ((*self).*serve)(exchange);
                              });
}

void LwsEndpoints::Private::probe(const std::shared_ptr<ServerExchange> &exchange)
{
    const std::string &path = exchange->request().path;
    if (path == "/healthz" || (path == "/readyz" && webhooks))
        replyText(*exchange, 200, "ok");
    else if (path == "/readyz")
        replyText(*exchange, 500, "the certificate of the webhooks is not there yet\n");
    else
        replyText(*exchange, 404, "404 page not found\n");
}

void LwsEndpoints::Private::admit(const std::shared_ptr<ServerExchange> &exchange)
{
    const ServerRequest &request = exchange->request();
    const auto answer = lwsAdmission(request.path, request.body);
    if (!answer)
        return replyText(*exchange, 404, "404 page not found\n");
    const nlohmann::json &response = answer->review["response"];
    ++(response["allowed"] == true ? counters.admitted
           : response["uid"] == "" ? counters.unread
                                   : counters.refused);
    if (!answer->refusal.empty() && options.log)
        options.log(request.path + " refused: " + answer->refusal);
    exchange->reply({200,
                     {{"Content-Type", "application/json"}},
                     answer->review.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
}

void LwsEndpoints::Private::measure(const std::shared_ptr<ServerExchange> &exchange)
{
    boost::asio::post(readers, [self = shared_from_this(), exchange] {
        const ServerRequest &request = exchange->request();
        KubeCallOptions call;
        call.cancel = self->cancel.get_token();
        call.deadline = Deadline::after(std::chrono::seconds(10));
        const std::string authorization(request.header("Authorization").value_or(std::string_view()));
        const Status may = checkMetricsReader(self->client, authorization, request.path, call);
        if (!may)
            replyText(*exchange, statusOf(may.error()), may.error().message + "\n");
        else if (request.path != "/metrics")
            replyText(*exchange, 404, "404 page not found\n");
        else
            exchange->reply({200,
                             {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                             metricsPage(self->counters)});
    });
}

LwsEndpoints::LwsEndpoints(boost::asio::io_context &io, LwsEndpointOptions options, LwsCounters &counters,
                           KubeClient &client)
    : m_p(std::make_shared<Private>(io, std::move(options), counters, client))
{
}

LwsEndpoints::~LwsEndpoints()
{
    m_p->probes.reset();
    m_p->webhooks.reset();
    m_p->metrics.reset();
    m_p->cancel.request_stop();
    m_p->readers.join();
}

Status LwsEndpoints::openProbes()
{
    auto listener = m_p->open(m_p->options.probePort, nullptr, &Private::probe);
    if (!listener)
        return tl::unexpected(listener.error());
    m_p->probes = std::move(*listener);
    return {};
}

Status LwsEndpoints::openSecured(const PemPair &certificate)
{
    m_p->webhooks.reset();
    m_p->metrics.reset();
    auto hooks = m_p->open(m_p->options.webhookPort, &certificate, &Private::admit);
    if (!hooks)
        return tl::unexpected(hooks.error());
    auto page = m_p->open(m_p->options.metricsPort, &certificate, &Private::measure);
    if (!page)
        return tl::unexpected(page.error());
    m_p->webhooks = std::move(*hooks);
    m_p->metrics = std::move(*page);
    return {};
}

} // namespace cluster::local
