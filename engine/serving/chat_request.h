#pragma once

#include "engine/serving/sampling_request.h"
#include "engine/serving/serving_context.h"
#include "engine/serving/tool_choice.h"
#include <optional>
#include <string>

namespace engine {

/// A POST to /v1/chat/completions whose fields are of the right types and kinds.
struct ChatRequest
{
    SamplingFields fields;
    std::string model;
    ChatPromptRequest prompt;
    std::string echoText; ///< With echo: the content of a last message that has the answer's role.
    std::string role; ///< Of the answer.
    std::int64_t topLogprobs = -1; ///< -1: no logprobs.
    SamplingParams sampling; ///< Without maxTokens and grammar.
    std::optional<GrammarRequest> grammar;
    ToolPlan tools;
    bool includeReasoning = true;
    bool returnPromptText = false;
};

[[nodiscard]] ApiResult<ChatRequest> readChatRequest(const ServingContext &context,
                                                     const nlohmann::ordered_json &body);

/// The part of a chat request that makes its prompt; also for /tokenize. Messages must be checked already.
[[nodiscard]] ApiResult<ChatPromptRequest> readChatPrompt(FieldReader &reader, const ServingContext &context,
                                                          const nlohmann::ordered_json &messages,
                                                          const std::string &toolsJson);

/// The name that vLLM shows when a chat needs a multimodal model.
[[nodiscard]] std::string shownModelName(const ServingContext &context);

} // namespace engine
