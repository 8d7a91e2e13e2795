#include "engine/serving/completions_route.h"

#include "engine/serving/backend_calls.h"
#include "engine/serving/completion_answer.h"

namespace engine {

namespace {

using Problem = std::optional<ApiError>;

/// Tokens for a text, and for the echo of tokens their text.
ReplyPart<Problem> readPrompt(ContextPtr context, CompletionPrompt &prompt, const SamplingFields &fields)
{
    if (prompt.isText) {
        const TextPromptRequest text{prompt.text, fields.addSpecialTokens, true};
        auto tokenised = co_await tokenized(*context, text);
        if (!tokenised)
            co_return fromError(tokenised.error());
        prompt.tokens = std::move(tokenised->tokens);
    } else if (fields.echo) {
        auto text = co_await detokenized(*context, prompt.tokens);
        if (!text)
            co_return fromError(text.error());
        prompt.text = std::move(*text);
    }
    truncatePrompt(prompt.tokens, fields, context->backend.facts().maxModelLen);
    if (prompt.tokens.empty())
        co_return badRequest("The decoder prompt cannot be empty");
    co_return std::nullopt;
}

/// The most tokens for the answer to each prompt.
ReplyPart<ApiResult<std::vector<int>>> readAllPrompts(ContextPtr context, CompletionRequest &request)
{
    std::vector<int> maxTokens;
    for (CompletionPrompt &prompt : request.prompts) {
        if (auto problem = co_await readPrompt(context, prompt, request.fields))
            co_return tl::unexpected(*problem);
        const auto fitted
            = fitMaxTokens(request.fields, prompt.tokens.size(), context->backend.facts().maxModelLen,
                           context->options.maxNewTokens, context->dialect);
        if (!fitted)
            co_return tl::unexpected(fitted.error());
        maxTokens.push_back(*fitted);
    }
    co_return maxTokens;
}

ApiResult<CompletionRequest> readCompletion(const ServingContext &context, const HttpRequest &http)
{
    if (const auto down = context.unavailable())
        return tl::unexpected(*down);
    const auto body = readJsonBody(context.dialect, http);
    if (!body)
        return tl::unexpected(body.error());
    auto request = readCompletionRequest(context, *body);
    if (!request)
        return request;
    std::size_t bytes = 0;
    for (const CompletionPrompt &prompt : request->prompts)
        bytes = std::max(bytes, prompt.text.size());
    if (const auto problem
        = checkLengthsEarly(request->fields, bytes, context.backend.facts().maxModelLen, context.dialect))
        return tl::unexpected(*problem);
    return request;
}

ReplyTask answerCompletion(ContextPtr context, ExchangePtr exchange)
{
    const Seconds arrival = context->now();
    auto read = readCompletion(*context, exchange->request());
    if (!read) {
        respondError(*exchange, *context, read.error());
        co_return;
    }
    CompletionRequest request = std::move(*read);
    auto maxTokens = co_await readAllPrompts(context, request);
    if (!maxTokens) {
        respondError(*exchange, *context, maxTokens.error());
        co_return;
    }
    if (const auto problem = checkAgainstEngine(request.fields, request.logprobs, context->options,
                                                context->dialect, context->backend.facts().vocabularySize)) {
        refuseLate(*context, exchange, request.fields.stream, *problem);
        co_return;
    }
    SamplingParams sampling = request.sampling;
    if (request.grammar) {
        auto compiled = co_await compiledGrammar(*context, *request.grammar);
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
    answer->start(std::move(sampling), std::move(*maxTokens), arrival);
}

} // namespace

void serveCompletion(ContextPtr context, ExchangePtr exchange)
{
    answerCompletion(std::move(context), std::move(exchange));
}

} // namespace engine
