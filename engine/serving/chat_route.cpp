#include "engine/serving/chat_route.h"

#include "engine/serving/chat_answer.h"
#include "engine/serving/reply_task.h"

namespace engine {

namespace {

ReplyTask run(ContextPtr context, ExchangePtr exchange)
{
    const Seconds arrival = context->now();
    const Dialect &dialect = context->dialect;
    if (const auto down = context->unavailable()) {
        respondError(*exchange, *context, *down);
        co_return;
    }
    const auto body = readJsonBody(dialect, exchange->request());
    if (!body) {
        respondError(*exchange, *context, body.error());
        co_return;
    }
    auto read = readChatRequest(*context, *body);
    if (!read) {
        respondError(*exchange, *context, read.error());
        co_return;
    }
    ChatRequest request = std::move(*read);
    const ModelFacts &facts = context->backend.facts();
    if (const auto problem
        = checkLengthsEarly(request.fields, request.prompt.messagesJson.size(), facts.maxModelLen, dialect)) {
        respondError(*exchange, *context, *problem);
        co_return;
    }
    BackendReply<Prompt> render([&context, &request](Backend::Reply<Prompt> reply) {
        context->backend.renderChat(request.prompt, std::move(reply));
    });
    auto prompt = co_await render;
    if (!prompt) {
        respondError(*exchange, *context, fromError(prompt.error()));
        co_return;
    }
    truncatePrompt(prompt->tokens, request.fields, facts.maxModelLen);
    if (prompt->tokens.empty()) {
        respondError(*exchange, *context, badRequest("The decoder prompt cannot be empty"));
        co_return;
    }
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
    if (request.grammar) {
        BackendReply<std::string> compile([&context, &request](Backend::Reply<std::string> reply) {
            context->backend.compileGrammar(*request.grammar, std::move(reply));
        });
        auto compiled = co_await compile;
        if (!compiled) {
            respondError(*exchange, *context, grammarError(compiled.error()));
            co_return;
        }
        sampling.grammar = std::move(*compiled);
        if (request.tools.wrapped) {
            const bool several = request.tools.mode == ToolPlan::Mode::Required && request.tools.parallel;
            sampling.grammar = wrapCallGrammar(sampling.grammar, several);
        }
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
    run(std::move(context), std::move(exchange));
}

} // namespace engine
