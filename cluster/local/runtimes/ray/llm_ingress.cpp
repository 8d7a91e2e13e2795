#include "cluster/local/runtimes/ray/llm_ingress.h"

#include "cluster/httpd/http_listener.h"
#include "cluster/local/runtimes/ray/fast_api.h"
#include "cluster/local/runtimes/ray/relay.h"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::array postRoutes{"/v1/chat/completions",     "/v1/completions", "/v1/embeddings", "/v1/score",
                                "/v1/audio/transcriptions", "/tokenize",       "/detokenize"};

json card(const LlmModel &model)
{
    return {{"id", model.id},
            {"object", "model"},
            {"owned_by", "organization-owner"},
            {"permission", json::array()},
            {"metadata",
             {{"model_id", model.id},
              {"input_modality", "text"},
              {"max_request_context_length", model.maxLength > 0 ? json(model.maxLength) : json()}}}};
}

/// The words around every error that is raised behind the ingress.
json internalError(const std::string &message, int status, const std::string &requestId)
{
    const std::string id = " (Request ID: " + requestId + ")";
    return {{"error",
             {{"message",
               "Message: " + message + id
                   + ", Internal exception: "
                     "ray.llm._internal.serve.core.configs.openai_api_models.OpenAIHTTPException"
                   + id + ", original exception: "},
              {"type", "OpenAIHTTPException"},
              {"param", nullptr},
              {"code", status}}}};
}

const LlmModel *find(const std::vector<LlmModel> &models, const std::string &id)
{
    const auto found
        = std::find_if(models.begin(), models.end(), [&id](const LlmModel &model) { return model.id == id; });
    return found == models.end() ? nullptr : &*found;
}

LlmDecision modelPage(const ServerRequest &request, const std::vector<LlmModel> &models,
                      const std::string &requestId)
{
    if (request.method != "GET")
        return {fastApiWrongMethod("GET"), {}};
    const std::string start = "/v1/models/";
    if (request.path.starts_with(start)) {
        const std::string id = request.path.substr(start.size());
        if (const LlmModel *model = find(models, id))
            return {fastApiJson(200, card(*model)), {}};
        return {
            fastApiJson(404,
                        internalError("Unable to find " + id
                                          + ". Please ensure that the model exists and you have permission.",
                                      404, requestId)),
            {}};
    }
    json cards = json::array();
    for (const LlmModel &model : models)
        cards.push_back(card(model));
    return {fastApiJson(200, {{"data", std::move(cards)}, {"object", "list"}}), {}};
}

ServerResponse unknownModel(const std::string &id)
{
    return fastApiJson(
        404,
        {{"detail",
          "Got request for model \"" + id + "\". Could not find base model with ID \"" + id + "\"."}});
}

ServerResponse invalidFormat(const std::string &what, const std::string &type, const json &input)
{
    return fastApiJson(400,
                       {{"error",
                         {{"message", "Invalid request format: " + what},
                          {"type", type},
                          {"param", input},
                          {"code", "invalid_parameter"}}}});
}

class LlmIngress final : public HostedReplica
{
public:
    LlmIngress(boost::asio::io_context &io, const ServeReplicaSpec &spec) : m_io(io), m_id(spec.id)
    {
        for (const json &one : spec.arguments.at("models"))
            m_models.push_back({one.at("id").get<std::string>(), one.at("deployment").get<std::string>(),
                                one.at("max_length").get<int>()});
    }

    Status open(const std::string &address, const HostedHandlers &handlers)
    {
        auto listener
            = openReplica(m_io, address, handlers, [this](const auto &exchange) { handle(exchange); });
        if (!listener)
            return tl::unexpected(listener.error());
        m_listener = std::move(*listener);
        return {};
    }

    void setPeers(const std::vector<ServeTarget> &targets) override { m_servers->setTargets(targets); }

    void addTraffic(ServeTraffic &traffic) const override
    {
        traffic.served[m_id] = m_served;
        for (const auto &[replica, count] : *m_servedBy)
            traffic.served[replica] = count;
        m_servers->addOngoing(traffic.ongoing);
    }

private:
    void handle(const std::shared_ptr<ServerExchange> &exchange)
    {
        const ServerRequest &request = exchange->request();
        const std::string requestId(request.header("x-request-id").value_or(randomUuid()));
        ++m_served;
        LlmDecision decision = decideLlmRequest(request, m_models, requestId);
        if (decision.answer) {
            exchange->reply(std::move(*decision.answer));
            return;
        }
        RelayOptions options;
        options.target = request.target;
        options.headers = {{"x-request-id", requestId}};
        options.onError
            = [requestId](int status, const std::string &body) { return llmError(status, body, requestId); };
        m_servers->acquire(
            decision.deployment, [exchange] { return !exchange->isClosed(); },
            [&io = m_io, exchange, options, counts = m_servedBy](std::shared_ptr<TargetLease> lease) {
                ++(*counts)[lease->target().replica];
                relay(io, exchange, std::move(lease), options);
            });
    }

    boost::asio::io_context &m_io;
    std::string m_id;
    std::vector<LlmModel> m_models;
    std::uint64_t m_served = 0;
    std::shared_ptr<std::map<std::string, std::uint64_t>> m_servedBy
        = std::make_shared<std::map<std::string, std::uint64_t>>();
    std::shared_ptr<TargetPool> m_servers = std::make_shared<TargetPool>();
    std::unique_ptr<HttpListener> m_listener;
};

} // namespace

LlmDecision decideLlmRequest(const ServerRequest &request, const std::vector<LlmModel> &models,
                             const std::string &requestId)
{
    const std::string &path = request.path;
    if (path == "/v1/models" || path.starts_with("/v1/models/"))
        return modelPage(request, models, requestId);
    if (std::find(postRoutes.begin(), postRoutes.end(), path) == postRoutes.end())
        return {fastApiNotFound(), {}};
    if (request.method != "POST")
        return {fastApiWrongMethod("POST"), {}};
    const std::string type(request.header("content-type").value_or("application/json"));
    if (type.starts_with("text/"))
        return {fastApiServerError(), {}}; // as recorded
    const json::parser_callback_t isShallow
        = [](int depth, json::parse_event_t, json &) { return depth < 200; };
    const json body = json::parse(request.body, isShallow, false);
    if (body.is_discarded())
        return {invalidFormat("JSON decode error at ('body', 0)", "json_invalid", json::object()), {}};
    const auto name = body.is_object() ? body.find("model") : body.end();
    const bool isNamed = body.is_object() && name != body.end() && !name->is_null();
    if (isNamed && !name->is_string())
        return {invalidFormat("Input should be a valid string at ('body', 'model')", "string_type", *name),
                {}};
    const std::string id = isNamed ? name->get<std::string>() : models.size() == 1 ? models[0].id : "";
    const LlmModel *model = find(models, id);
    if (model == nullptr)
        return {unknownModel(id), {}};
    return {std::nullopt, model->deployment};
}

ServerResponse llmError(int status, const std::string &engineBody, const std::string &requestId)
{
    const json body = json::parse(engineBody, nullptr, false);
    std::string message = engineBody;
    if (body.is_object() && body.contains("error") && body["error"].is_object()
        && body["error"].contains("message") && body["error"]["message"].is_string())
        message = body["error"]["message"].get<std::string>();
    return fastApiJson(status, internalError(message, status, requestId));
}

Result<std::unique_ptr<HostedReplica>> llmIngress(boost::asio::io_context &io, const std::string &address,
                                                  const ServeReplicaSpec &spec, HostedHandlers handlers)
{
    try { // of arguments that are missing or of a wrong type
        auto replica = std::make_unique<LlmIngress>(io, spec);
        if (auto open = replica->open(address, handlers); !open)
            return tl::unexpected(open.error());
        return std::unique_ptr<HostedReplica>(std::move(replica));
    } catch (const json::exception &error) {
        return fail(ErrorCode::InvalidArgument, std::string("arguments of OpenAiIngress: ") + error.what());
    }
}

} // namespace cluster::local
