#include "engine/serving/completions_route.h"

#include "engine/serving/completion_answer.h"
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
    auto read = readCompletionRequest(*context, *body);
    if (!read) {
        respondError(*exchange, *context, read.error());
        co_return;
    }
    CompletionRequest request = std::move(*read);
    const int maxModelLen = context->backend.facts().maxModelLen;
    std::size_t bytes = 0;
    for (const CompletionPrompt &prompt : request.prompts)
        bytes = std::max(bytes, prompt.text.size());
    if (const auto problem = checkLengthsEarly(request.fields, bytes, maxModelLen, dialect)) {
        respondError(*exchange, *context, *problem);
        co_return;
    }
    std::vector<int> maxTokens;
    for (CompletionPrompt &prompt : request.prompts) {
        if (prompt.isText) {
            TextPromptRequest text{prompt.text, request.fields.addSpecialTokens, true};
            BackendReply<Prompt> call([&context, &text](Backend::Reply<Prompt> reply) {
                context->backend.tokenize(std::move(text), std::move(reply));
            });
            auto tokenised = co_await call;
            if (!tokenised) {
                respondError(*exchange, *context, fromError(tokenised.error()));
                co_return;
            }
            prompt.tokens = std::move(tokenised->tokens);
        } else if (request.fields.echo) {
            BackendReply<std::string> call([&context, &prompt](Backend::Reply<std::string> reply) {
                context->backend.detokenize(prompt.tokens, std::move(reply));
            });
            auto text = co_await call;
            if (!text) {
                respondError(*exchange, *context, fromError(text.error()));
                co_return;
            }
            prompt.text = std::move(*text);
        }
        truncatePrompt(prompt.tokens, request.fields, maxModelLen);
        if (prompt.tokens.empty()) {
            respondError(*exchange, *context, badRequest("The decoder prompt cannot be empty"));
            co_return;
        }
        const auto fitted = fitMaxTokens(request.fields, prompt.tokens.size(), maxModelLen,
                                         context->options.maxNewTokens, dialect);
        if (!fitted) {
            respondError(*exchange, *context, fitted.error());
            co_return;
        }
        maxTokens.push_back(*fitted);
    }
    if (const auto problem = checkAgainstEngine(request.fields, request.logprobs, context->options, dialect,
                                                context->backend.facts().vocabularySize)) {
        refuseLate(*context, exchange, request.fields.stream, *problem);
        co_return;
    }
    SamplingParams sampling = request.sampling;
    if (request.grammar) {
        GrammarRequest grammar = *request.grammar;
        BackendReply<std::string> call([&context, &grammar](Backend::Reply<std::string> reply) {
            context->backend.compileGrammar(std::move(grammar), std::move(reply));
        });
        auto compiled = co_await call;
        if (!compiled) {
            respondError(*exchange, *context, grammarError(compiled.error()));
            co_return;
        }
        sampling.grammar = std::move(*compiled);
    }
    sampling.promptLogprobs = static_cast<int>(request.fields.promptLogprobs.value_or(-1));
    if (exchange->isDisconnected())
        co_return;
    const std::string id = "cmpl-" + context->baseId(exchange->request(), request.fields.requestId);
    auto answer = std::make_shared<CompletionAnswer>(context, exchange, std::move(request), id);
    answer->start(std::move(sampling), std::move(maxTokens), arrival);
}

} // namespace

void serveCompletion(ContextPtr context, ExchangePtr exchange)
{
    run(std::move(context), std::move(exchange));
}

} // namespace engine
