#include "engine/serving/http_frontend.h"

#include "engine/serving/access_policy.h"
#include "engine/serving/chat_route.h"
#include "engine/serving/completions_route.h"
#include "engine/serving/embeddings_route.h"
#include "engine/serving/http_server.h"
#include "engine/serving/invocations_route.h"
#include "engine/serving/models_route.h"
#include "engine/serving/router.h"
#include "engine/serving/system_routes.h"
#include "engine/serving/tokenize_route.h"
#include <map>

namespace engine {

namespace {

using RouteFunction = void (*)(ContextPtr, ExchangePtr);

/// A route in which /load counts.
Router::Handler counted(const ContextPtr &context, RouteFunction serve)
{
    return [context, serve](const ExchangePtr &exchange) { serve(context, exchange); };
}

Router::Handler plain(const ContextPtr &context, void (*serve)(const ContextPtr &, const ExchangePtr &))
{
    return [context, serve](const ExchangePtr &exchange) { serve(context, exchange); };
}

Router::Handler unsupported(const ContextPtr &context, const std::string &what,
                            std::vector<std::string> needed = {})
{
    return [context, what, needed = std::move(needed)](const ExchangePtr &exchange) {
        serveUnsupported(context, exchange, what, needed);
    };
}

void addSystemRoutes(Router &router, const ContextPtr &context)
{
    router.add("GET", "/health", plain(context, serveHealth));
    router.add("GET, POST", "/ping", plain(context, serveHealth));
    router.add("GET", "/version", plain(context, serveVersion));
    router.add("GET", "/load", plain(context, serveLoad));
    router.add("GET", "/metrics", plain(context, serveMetrics));
    router.add("GET", "/metrics/", plain(context, serveMetrics)); // both answer directly, without a redirect
    router.add("GET", "/v1/models", plain(context, serveModels));
    router.add("POST", "/tokenize", counted(context, serveTokenize));
    router.add("POST", "/detokenize", counted(context, serveDetokenize));
    router.add("POST", "/invocations", counted(context, serveInvocation));
}

/// Newer servers have only the routes of the model's task; the old one has all and refuses.
void addTaskRoutes(Router &router, const ContextPtr &context)
{
    const bool isOld = context->dialect.isOld();
    const bool embeds = context->backend.facts().isEmbeddingModel;
    if (!embeds) {
        router.add("POST", "/v1/completions", counted(context, serveCompletion));
        router.add("POST", "/v1/chat/completions", counted(context, serveChat));
    } else {
        router.add("POST", "/v1/embeddings", counted(context, serveEmbeddings));
    }
    if (!isOld)
        return;
    if (embeds) {
        router.add("POST", "/v1/completions", unsupported(context, "Completions API"));
        router.add("POST", "/v1/chat/completions", unsupported(context, "Chat Completions API"));
    } else {
        router.add("POST", "/v1/embeddings", unsupported(context, "Embeddings API"));
    }
    router.add("POST", "/pooling", unsupported(context, "Pooling API"));
    router.add("POST", "/v1/audio/transcriptions", unsupported(context, "Transcriptions API"));
    for (const char *path : {"/score", "/v1/score"})
        router.add("POST", path, unsupported(context, "Score API", {"text_1", "text_2"}));
    for (const char *path : {"/rerank", "/v1/rerank", "/v2/rerank"})
        router.add("POST", path, unsupported(context, "Rerank (Score) API", {"query", "documents"}));
}

bool isCounted(const std::string &pattern)
{
    return pattern == "/v1/completions" || pattern == "/v1/chat/completions" || pattern == "/v1/embeddings"
        || pattern == "/invocations";
}

} // namespace

struct HttpFrontend::State
{
    struct Running
    {
        std::string pattern;
        Seconds arrival{};
        bool counted = false;
    };

    State(boost::asio::io_context &io, const ServerOptions &options, Backend &backend, ServerMetrics &metrics)
        : context(std::make_shared<ServingContext>(options, backend, metrics)), guard(options), cors(options),
          server(
              io, options, [this](const ExchangePtr &exchange) { dispatch(exchange); },
              [this](const Exchange &exchange) { served(exchange); })
    {
        addSystemRoutes(router, context);
        addTaskRoutes(router, context);
    }

    void dispatch(const ExchangePtr &exchange);
    void served(const Exchange &exchange);
    std::function<void(HttpResponse &)> decorator(const ExchangePtr &exchange, bool withCors);
    HttpRequest routed(const HttpRequest &request) const;

    ContextPtr context;
    ApiKeyGuard guard;
    CorsPolicy cors;
    Router router;
    std::map<const Exchange *, Running> running;
    HttpServer server; // last: its sessions call the members above
};

/// The request as the routes know it: without the root path.
HttpRequest HttpFrontend::State::routed(const HttpRequest &request) const
{
    HttpRequest copy;
    copy.method = request.method;
    copy.path = request.path;
    copy.query = request.query;
    if (const std::string_view host = request.header("host"); !host.empty())
        copy.headers.emplace_back("host", host);
    const std::string &root = context->options.rootPath;
    if (!root.empty() && copy.path.starts_with(root) && copy.path.size() > root.size())
        copy.path.erase(0, root.size());
    return copy;
}

std::function<void(HttpResponse &)> HttpFrontend::State::decorator(const ExchangePtr &exchange, bool withCors)
{
    std::string requestId;
    if (context->options.requestIdHeaders) {
        requestId = std::string(exchange->request().header("x-request-id"));
        if (requestId.empty())
            requestId = context->ids.hex(32);
    }
    // The exchange owns the decorator, so a plain pointer to it lives long enough.
    return [request = &exchange->request(), requestId, withCors, policy = cors](HttpResponse &response) {
        if (withCors)
            policy.decorate(*request, response);
        if (!requestId.empty())
            response.headers.emplace_back("x-request-id", requestId);
    };
}

void HttpFrontend::State::dispatch(const ExchangePtr &exchange)
{
    const HttpRequest request = routed(exchange->request());
    Running entry;
    entry.arrival = context->now();
    entry.pattern = "none";
    if (auto refusal
        = guard.check(exchange->request(), request.path)) { // before all, and without CORS headers
        running[exchange.get()] = entry;
        exchange->setDecorator(decorator(exchange, false));
        exchange->respond(std::move(*refusal));
        return;
    }
    if (auto preflight = cors.preflight(exchange->request())) {
        running[exchange.get()] = entry;
        exchange->setDecorator(decorator(exchange, false));
        exchange->respond(std::move(*preflight));
        return;
    }
    exchange->setDecorator(decorator(exchange, true));
    Router::Match match = router.find(request);
    entry.pattern = match.pattern;
    entry.counted = match.handler && context->options.loadTracking && isCounted(match.pattern);
    context->load += entry.counted ? 1 : 0;
    running[exchange.get()] = entry;
    if (match.handler)
        (*match.handler)(exchange);
    else
        exchange->respond(std::move(match.answer));
}

void HttpFrontend::State::served(const Exchange &exchange)
{
    const auto found = running.find(&exchange);
    if (found == running.end())
        return;
    const Running entry = found->second;
    running.erase(found);
    context->load -= entry.counted ? 1 : 0;
    HttpObservation observation;
    observation.method = exchange.request().method;
    observation.handler = entry.pattern;
    observation.status
        = exchange.isAnswered() ? exchange.head().status : 499; // the client left before an answer
    observation.duration = context->now() - entry.arrival;
    observation.requestBytes = exchange.request().body.size();
    observation.responseBytes = exchange.isStream() ? exchange.bytesSent() : exchange.head().body.size();
    context->metrics.http(observation);
}

HttpFrontend::HttpFrontend(boost::asio::io_context &io, const ServerOptions &options, Backend &backend,
                           ServerMetrics &metrics)
    : m_state(std::make_unique<State>(io, options, backend, metrics))
{
    backend.onStats([&metrics](const RunnerStats &stats) { metrics.runnerStats(stats); });
}

HttpFrontend::~HttpFrontend() = default;

cluster::Status HttpFrontend::listen()
{
    return m_state->server.listen();
}

std::uint16_t HttpFrontend::port() const
{
    return m_state->server.port();
}

void HttpFrontend::stop(std::function<void()> stopped)
{
    m_state->context->draining = true;
    m_state->server.stop(std::move(stopped));
}

} // namespace engine
