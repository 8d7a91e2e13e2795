#include "engine/serving/chat_request.h"

#include "engine/serving/logprobs_json.h"
#include "engine/serving/message_validation.h"
#include "engine/serving/structured_output.h"

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char *kNoTemplate = "This model has no chat template, so it can't chat: it is offered for "
                                    "completion only. Use /v1/completions, "
                                    "or start the server with --chat-template.";

std::optional<ApiError> checkChatRules(const FieldReader &reader, const ChatRequest &request,
                                       const Dialect &dialect, std::optional<std::int64_t> topLogprobs,
                                       bool logprobs)
{
    if (auto problem = checkSharedRules(reader, request.fields, dialect))
        return problem;
    if (topLogprobs && *topLogprobs < 0) {
        if (dialect.isOld() || *topLogprobs < -1)
            return ruleError(dialect, reader.body(), "`top_logprobs` must be a positive value.",
                             "top_logprobs");
    }
    if (topLogprobs && *topLogprobs != 0 && !logprobs) {
        return ruleError(dialect, reader.body(), "when using `top_logprobs`, `logprobs` must be set to true.",
                         "top_logprobs");
    }
    if (request.prompt.continueFinalMessage && reader.find("add_generation_prompt")
        && request.prompt.addGenerationPrompt) {
        return ruleError(dialect, reader.body(),
                         "Cannot set both `continue_final_message` and `add_generation_prompt` to True.");
    }
    return std::nullopt;
}

/// Fields that newer servers hand to the template beside chat_template_kwargs.
std::string templateArguments(FieldReader &reader, const Dialect &dialect)
{
    Json arguments = Json::object();
    if (const auto effort = reader.find("reasoning_effort");
        effort && effort->is_string() && !dialect.isOld())
        arguments["reasoning_effort"] = *effort;
    if (const Json *documents = reader.array("documents"))
        arguments["documents"] = *documents;
    if (const Json *given = reader.object("chat_template_kwargs"))
        arguments.update(*given);
    return arguments.empty() ? std::string() : toText(arguments);
}

void readRoleAndEcho(ChatRequest &request, const Json &messages, const ServerOptions &options)
{
    const Json *last = messages.empty() ? nullptr : &messages.back();
    const auto lastRole = [&] {
        const auto role = last ? last->find("role") : Json::const_iterator();
        return last && role != last->end() && role->is_string() ? role->get<std::string>() : std::string();
    }();
    request.role = request.prompt.addGenerationPrompt || lastRole.empty() ? options.responseRole : lastRole;
    if (request.fields.echo && last && lastRole == request.role && last->contains("content")
        && last->at("content").is_string())
        request.echoText = last->at("content").get<std::string>();
}

ApiResult<void> finishRequest(ChatRequest &request, const ServingContext &context, const Json &messages)
{
    const Dialect &dialect = context.dialect;
    auto model = resolveModel(request.fields.model, context.options, dialect);
    if (!model)
        return tl::unexpected(model.error());
    request.model = *model;
    if (messages.empty()) {
        return tl::unexpected(
            badRequest("Cannot apply chat template to an empty conversation. Provide at least one message."));
    }
    if (!context.backend.facts().hasChatTemplate && request.prompt.chatTemplate.empty())
        return tl::unexpected(badRequest(kNoTemplate));
    if (request.fields.beamSearch) {
        return tl::unexpected(badRequest(request.fields.stream
                                             ? "Streaming is not currently supported with beam search"
                                             : "Beam search is not supported by this engine; leave "
                                               "use_beam_search out."));
    }
    if (request.fields.echo && !request.fields.promptLogprobs && !request.fields.stream)
        request.fields.promptLogprobs = std::max<std::int64_t>(request.topLogprobs, 0);
    auto sampling = makeSampling(request.fields, request.topLogprobs, dialect);
    if (!sampling)
        return tl::unexpected(sampling.error());
    request.sampling = std::move(*sampling);
    return {};
}

} // namespace

std::string shownModelName(const ServingContext &context)
{
    if (!context.dialect.isOld())
        return context.options.servedModelNames.front();
    const std::string &root = context.options.modelRoot;
    return root.substr(root.find_last_of('/') + 1);
}

ApiResult<ChatPromptRequest> readChatPrompt(FieldReader &reader, const ServingContext &context,
                                            const Json &messages, const std::string &toolsJson)
{
    ChatPromptRequest prompt;
    prompt.messagesJson = toText(messages);
    prompt.toolsJson = toolsJson;
    prompt.chatTemplate = reader.string("chat_template").value_or("");
    prompt.templateKwargsJson = templateArguments(reader, context.dialect);
    prompt.continueFinalMessage = reader.boolean("continue_final_message").value_or(false);
    prompt.addGenerationPrompt
        = reader.boolean("add_generation_prompt").value_or(!prompt.continueFinalMessage);
    prompt.addSpecialTokens = reader.boolean("add_special_tokens").value_or(false);
    if (!prompt.chatTemplate.empty() && !context.dialect.isOld()
        && !context.options.trustRequestChatTemplate) {
        return tl::unexpected(
            badRequest("Chat template is passed with request, but --trust-request-chat-template is "
                       "not set. Refused request with untrusted chat template."));
    }
    return prompt;
}

ApiResult<ChatRequest> readChatRequest(const ServingContext &context, const Json &body)
{
    const Dialect &dialect = context.dialect;
    FieldReader reader(body);
    ChatRequest request;
    auto messages = readMessages(reader, dialect, shownModelName(context));
    request.fields = readSamplingFields(reader, context.options, dialect);
    if (const auto newer = reader.integer("max_completion_tokens"))
        request.fields.maxTokens = newer;
    const bool logprobs = reader.boolean("logprobs").value_or(false);
    const auto topLogprobs = reader.integer("top_logprobs");
    request.includeReasoning = dialect.isOld() || reader.boolean("include_reasoning").value_or(true);
    request.returnPromptText = !dialect.isOld() && reader.boolean("return_prompt_text").value_or(false);
    auto grammar = readStructuredOutput(reader, dialect);
    auto tools = readToolPlan(reader, context.options, dialect);
    if (!messages && reader.issues().empty())
        return tl::unexpected(messages.error());
    auto prompt = readChatPrompt(reader, context, messages ? *messages : Json::array(),
                                 tools ? tools->toolsJson : "");
    if (!reader.issues().empty())
        return tl::unexpected(validationError(dialect, reader.issues()));
    if (prompt)
        request.prompt = std::move(*prompt);
    if (auto problem = checkChatRules(reader, request, dialect, topLogprobs, logprobs))
        return tl::unexpected(std::move(*problem));
    if (!grammar)
        return tl::unexpected(grammar.error());
    if (!tools)
        return tl::unexpected(tools.error());
    if (!prompt)
        return tl::unexpected(prompt.error());
    request.tools = std::move(*tools);
    if (dialect.isOld() && *grammar && request.tools.grammar)
        return tl::unexpected(
            ruleError(dialect, body, "You can only either use guided decoding or tools, not both."));
    request.grammar = request.tools.grammar ? request.tools.grammar : *grammar;
    if (logprobs) {
        request.topLogprobs
            = topLogprobs == -1 ? context.backend.facts().vocabularySize : topLogprobs.value_or(0);
    }
    readRoleAndEcho(request, *messages, context.options);
    if (auto finished = finishRequest(request, context, *messages); !finished)
        return tl::unexpected(finished.error());
    return request;
}

} // namespace engine
