#include "engine/serving/chat_route.h"

#include "engine/serving/backend_calls.h"
#include "engine/serving/chat_answer.h"

namespace engine {

namespace {

using Problem = std::optional<ApiError>;

ApiResult<ChatRequest> readChat(const ServingContext &context, const HttpRequest &http)
{
    if (const auto down = context.unavailable())
        return tl::unexpected(*down);
    const auto body = readJsonBody(context.dialect, http);
    if (!body)
        return tl::unexpected(body.error());
    auto request = readChatRequest(context, *body);
    if (!request)
        return request;
    if (const auto problem = checkLengthsEarly(request->fields, request->prompt.messagesJson.size(),
                                               context.backend.facts().maxModelLen, context.dialect))
        return tl::unexpected(*problem);
    return request;
}

ReplyPart<ApiResult<Prompt>> renderPrompt(ContextPtr context, const ChatRequest &request)
{
    auto prompt = co_await renderedChat(*context, request.prompt);
    if (!prompt)
        co_return tl::unexpected(fromError(prompt.error()));
    truncatePrompt(prompt->tokens, request.fields, context->backend.facts().maxModelLen);
    if (prompt->tokens.empty())
        co_return tl::unexpected(badRequest("The decoder prompt cannot be empty"));
    co_return std::move(*prompt);
}

/// The grammar of the request in `sampling`, if it has one.
ReplyPart<Problem> compileInto(ContextPtr context, const ChatRequest &request, SamplingParams &sampling)
{
    if (!request.grammar)
        co_return std::nullopt;
    auto compiled = co_await compiledGrammar(*context, *request.grammar);
    if (!compiled)
        co_return grammarError(compiled.error());
    sampling.grammar = std::move(*compiled);
    if (request.tools.wrapped) {
        const bool several = request.tools.mode == ToolPlan::Mode::Required && request.tools.parallel;
        sampling.grammar = wrapCallGrammar(sampling.grammar, several);
    }
    co_return std::nullopt;
}

ReplyTask answerChat(ContextPtr context, ExchangePtr exchange)
{
    const Seconds arrival = context->now();
    const Dialect &dialect = context->dialect;
    auto read = readChat(*context, exchange->request());
    if (!read) {
        respondError(*exchange, *context, read.error());
        co_return;
    }
    ChatRequest request = std::move(*read);
    auto prompt = co_await renderPrompt(context, request);
    if (!prompt) {
        respondError(*exchange, *context, prompt.error());
        co_return;
    }
    const ModelFacts &facts = context->backend.facts();
    const auto maxTokens = fitMaxTokens(request.fields, prompt->tokens.size(), facts.maxModelLen,
                                        context->options.maxNewTokens, dialect);
    if (!maxTokens) {
        respondError(*exchange, *context, maxTokens.error());
        co_return;
    }
    if (const auto problem = checkAgainstEngine(request.fields, request.topLogprobs, context->options,
                                                dialect, facts.vocabularySize)) {
        refuseLate(*context, exchange, request.fields.stream, *problem);
        co_return;
    }
    SamplingParams sampling = request.sampling;
    if (const auto problem = co_await compileInto(context, request, sampling)) {
        respondError(*exchange, *context, *problem);
        co_return;
    }
    sampling.promptLogprobs = static_cast<int>(request.fields.promptLogprobs.value_or(-1));
    if (exchange->isDisconnected())
        co_return;
    const std::string id = "chatcmpl-" + context->baseId(exchange->request(), request.fields.requestId);
    auto answer = std::make_shared<ChatAnswer>(context, exchange, std::move(request), std::move(*prompt), id);
    answer->start(std::move(sampling), *maxTokens, arrival);
}

} // namespace

void serveChat(ContextPtr context, ExchangePtr exchange)
{
    answerChat(std::move(context), std::move(exchange));
}

} // namespace engine
