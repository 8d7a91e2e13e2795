#include "app/slipwayctl/session.h"

#include "app/slipwayctl/store_access.h"

#include <cstdlib>

namespace slipwayctl {

using cluster::ErrorCode;
using cluster::Result;
using cluster::Status;

namespace {

constexpr const char *defaultChatModel = "smollm2-135m-instruct";
constexpr const char *defaultBaseModel = "gemma3-270m";

Result<std::string> apiKey(const SessionOptions &options)
{
    if (!options.apiKeyFile.empty())
        return readSecret(options.apiKeyFile);
    const char *value = std::getenv("OPENAI_API_KEY"); // NOLINT(concurrency-mt-unsafe): nothing here sets any
    return std::string(value && !options.baseUrl.empty() ? value : "");
}

} // namespace

void addSessionOptions(CLI::App &command, SessionOptions &options)
{
    command
        .add_option("--base-url", options.baseUrl,
                    "an OpenAI-like server, as http://host:port/v1; without it the local engine is "
                    "started for this call")
        ->check([](const std::string &url) { return url.empty() ? "--base-url is empty" : ""; });
    command.add_option("--model", options.model,
                       "a model the server has (the first, if not given), or locally a name of 'models list' "
                       "or a GGUF file");
    command.add_option("--api-key-file", options.apiKeyFile,
                       "a file of mode 0600 with the server's key; else OPENAI_API_KEY is used");
}

Result<std::unique_ptr<Session>> Session::open(CommandContext &context, const SessionOptions &options,
                                               Need need)
{
    auto session = std::make_unique<Session>();
    Result<std::string> key = apiKey(options);
    if (!key)
        return tl::unexpected(key.error());
    std::string baseUrl = options.baseUrl;
    session->m_model = options.model;
    if (baseUrl.empty()) {
        const std::string fallback = need == Need::Chat ? defaultChatModel : defaultBaseModel;
        if (auto started
            = session->startEngine(context, options.model.empty() ? fallback : options.model, need);
            !started)
            return tl::unexpected(started.error());
        baseUrl = session->m_engine->baseUrl();
    }
    session->m_client = std::make_unique<cluster::OpenAiClient>(
        session->m_http, cluster::OpenAiEndpoint{baseUrl, std::move(*key)});
    if (session->m_model.empty()) {
        if (auto asked = session->askForModel(context.interrupts.begin()); !asked)
            return tl::unexpected(asked.error());
    }
    return session;
}

Status Session::startEngine(CommandContext &context, const std::string &model, Need need)
{
    const auto catalogue = cluster::ModelCatalogue::builtIn();
    if (!catalogue)
        return tl::unexpected(catalogue.error());
    const cluster::ModelStore store(cluster::defaultModelFolder(), *catalogue);
    const auto stored = store.find(model);
    if (!stored)
        return tl::unexpected(stored.error());
    if (!stored->isInstalled())
        return cluster::fail(ErrorCode::NotFound,
                             stored->name + " is not on this machine: 'slipwayctl models pull " + stored->name
                                 + "' gets it, or name a server with --base-url");
    if (need == Need::Chat && stored->kind == cluster::ModelKind::Base)
        return cluster::fail(
            ErrorCode::FailedPrecondition,
            stored->name
                + " is a base model without a chat template, so it can't chat: use 'slipwayctl "
                  "complete --model "
                + stored->name + "', or a chat model");
    if (stored->kind == cluster::ModelKind::Embeddings)
        return cluster::fail(ErrorCode::FailedPrecondition,
                             stored->name + " makes embeddings and generates no text: choose another model");
    remark(context, "Starting the local engine with " + stored->name + " ...");
    Result<LocalEngine> engine
        = LocalEngine::start(context.programPath, *stored, m_http, context.interrupts.begin());
    if (!engine)
        return tl::unexpected(engine.error());
    m_engine.emplace(std::move(*engine));
    m_model = stored->name;
    return {};
}

Status Session::askForModel(const cluster::CancelToken &cancel)
{
    cluster::CallOptions options;
    options.cancel = cancel;
    options.idleTimeout = std::chrono::seconds(30);
    const auto models = m_client->models(options);
    if (!models)
        return tl::unexpected(models.error());
    if (models->empty())
        return cluster::fail(ErrorCode::NotFound,
                             m_client->endpoint().baseUrl + " serves no model: start it with one");
    m_model = models->front().id;
    return {};
}

} // namespace slipwayctl
