#include "cluster/local/tpuwebhook/tpu_webhook.h"

#include "cluster/httpd/http_listener.h"
#include "cluster/kube/kube_client.h"
#include "cluster/local/admission/admission_review.h"
#include "cluster/local/tpuwebhook/group_pods.h"
#include "cluster/local/tpuwebhook/pod_mutation.h"
#include "cluster/local/tpuwebhook/ray_cluster_rules.h"
#include "cluster/local/tpuwebhook/webhook_objects.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

void replyJson(ServerExchange &exchange, const Json &object)
{
    exchange.reply({200,
                    {{"Content-Type", "application/json"}},
                    object.dump(-1, ' ', false, Json::error_handler_t::replace)});
}

/// The webhook's bare answer to what it can't judge: its caller shows it as a failed call.
void replyFailed(ServerExchange &exchange, const std::string &words)
{
    exchange.reply({403, {{"Content-Type", "text/plain; charset=utf-8"}}, words + "\n"});
}

} // namespace

struct TpuWebhook::Private : std::enable_shared_from_this<TpuWebhook::Private>
{
    Private(boost::asio::io_context &context, TpuWebhookOptions o, KubeClient &client)
        : io(context), options(std::move(o)), pods(client)
    {
    }

    boost::asio::io_context &io;
    const TpuWebhookOptions options;
    GroupPods pods; // on the worker's thread only
    std::unique_ptr<HttpListener> listener;
    boost::asio::thread_pool worker{1}; // one object at a time: two pods must not get one place

    void serve(const std::shared_ptr<ServerExchange> &exchange);
    void mutate(ServerExchange &exchange);
    void validate(ServerExchange &exchange) const;
    void log(const std::string &text) const
    {
        if (options.log)
            options.log("TPU webhook: " + text);
    }
};

void TpuWebhook::Private::serve(const std::shared_ptr<ServerExchange> &exchange)
{
    const ServerRequest &request = exchange->request();
    if (request.method != "POST")
        exchange->reply({405, {{"Allow", "POST"}}, ""});
    else if (request.path == "/mutate")
        boost::asio::post(worker, [self = shared_from_this(), exchange] { self->mutate(*exchange); });
    else if (request.path == "/validate")
        validate(*exchange);
    else
        exchange->reply({404, {}, ""});
}

void TpuWebhook::Private::mutate(ServerExchange &exchange)
{
    const auto question = parseAdmissionReview(exchange.request().body);
    if (!question) {
        log(question.error().message);
        return replyFailed(exchange, "Failed to mutate Pod");
    }
    const auto patch = tpuPodPatch(question->object, question->nameSpace,
                                   [this](const RayGroup &group) { return pods.of(group); });
    if (!patch) {
        log(patch.error().message);
        return replyFailed(exchange, "Failed to mutate Pod");
    }
    pods.admitted(question->nameSpace, question->object, *patch);
    replyJson(exchange, admittedWith(question->uid, *patch));
}

void TpuWebhook::Private::validate(ServerExchange &exchange) const
{
    const auto question = parseAdmissionReview(exchange.request().body);
    const Status judged = question ? checkTpuGroups(question->object) : tl::unexpected(question.error());
    if (judged)
        return replyJson(exchange, admittedWith(question->uid, Json::array()));
    log(judged.error().message);
    if (judged.error().code == ErrorCode::PermissionDenied)
        replyJson(exchange, refusedWith(question->uid, judged.error().message));
    else
        replyFailed(exchange, "Failed to validate RayCluster");
}

TpuWebhook::TpuWebhook(boost::asio::io_context &io, TpuWebhookOptions options, KubeClient &client)
    : m_p(std::make_shared<Private>(io, std::move(options), client))
{
}

TpuWebhook::~TpuWebhook()
{
    m_p->listener.reset();
    m_p->pods.stop();
    m_p->worker.join();
}

Status TpuWebhook::listen()
{
    ListenerOptions options;
    options.address = m_p->options.listenAddress;
    options.tls = TlsIdentity{m_p->options.certificatePem, m_p->options.keyPem, {}, false};
    options.limits.maxBodyBytes = std::size_t{4} << 20; // the apiserver's own limit of an object is 3 MiB
    options.limits.maxConnections = 64;
    auto listener = HttpListener::open(m_p->io, std::move(options),
                                       [self = m_p->weak_from_this()](const auto &exchange) {
                                           if (const auto webhook = self.lock())
                                               webhook->serve(exchange);
                                       });
    if (!listener)
        return tl::unexpected(listener.error());
    m_p->listener = std::move(*listener);
    return {};
}

Status TpuWebhook::registerWith(KubeClient &client) const
{
    KubeApplyOptions apply;
    apply.fieldManager = "slipway-local-target";
    apply.force = true;
    for (const auto &[path, object] :
         webhookObjects(m_p->options.address, m_p->listener->port(), m_p->options.caPem)) {
        if (const auto applied = client.apply(path, object, apply); !applied)
            return tl::unexpected(applied.error());
    }
    return {};
}

Status TpuWebhook::unregisterFrom(KubeClient &client)
{
    for (const ResourcePath &path : webhookConfigurations()) {
        const auto removed = client.remove(path);
        if (!removed && removed.error().code != ErrorCode::NotFound)
            return tl::unexpected(removed.error());
    }
    return {};
}

} // namespace cluster::local
