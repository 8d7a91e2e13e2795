#pragma once

#include "engine/serving/reply_task.h"
#include "engine/serving/serving_context.h"

namespace engine {

// The backend's calls as something to wait for. What they are given must live until then.

[[nodiscard]] inline auto tokenized(ServingContext &context, const TextPromptRequest &request)
{
    return BackendReply<Prompt>([&context, &request](Backend::Reply<Prompt> reply) {
        context.backend.tokenize(request, std::move(reply));
    });
}

[[nodiscard]] inline auto detokenized(ServingContext &context, const std::vector<TokenId> &tokens)
{
    return BackendReply<std::string>([&context, &tokens](Backend::Reply<std::string> reply) {
        context.backend.detokenize(tokens, std::move(reply));
    });
}

[[nodiscard]] inline auto renderedChat(ServingContext &context, const ChatPromptRequest &request)
{
    return BackendReply<Prompt>([&context, &request](Backend::Reply<Prompt> reply) {
        context.backend.renderChat(request, std::move(reply));
    });
}

[[nodiscard]] inline auto compiledGrammar(ServingContext &context, const GrammarRequest &request)
{
    return BackendReply<std::string>([&context, &request](Backend::Reply<std::string> reply) {
        context.backend.compileGrammar(request, std::move(reply));
    });
}

[[nodiscard]] inline auto embedded(ServingContext &context, const EmbeddingRequest &request)
{
    using Values = std::vector<float>;
    return BackendReply<Values>([&context, &request](Backend::Reply<Values> reply) {
        context.backend.embed(request, std::move(reply));
    });
}

} // namespace engine
