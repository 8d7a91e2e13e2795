#pragma once

#include "engine/serving/sampling_request.h"
#include "engine/serving/serving_context.h"
#include <optional>
#include <string>
#include <vector>

namespace engine {

/// A prompt as text (to be tokenised) or as tokens.
struct CompletionPrompt
{
    std::string text;
    std::vector<TokenId> tokens;
    bool isText = true;
};

/// A POST to /v1/completions whose fields are of the right types and kinds.
struct CompletionRequest
{
    SamplingFields fields;
    std::string model;
    std::vector<CompletionPrompt> prompts;
    std::int64_t logprobs = -1; ///< -1: none.
    SamplingParams sampling; ///< Without maxTokens and grammar.
    std::optional<GrammarRequest> grammar;
};

/// The forms that a prompt may have: a string, token ids, or a list of either. Wrong ones become issues of
/// `field`.
[[nodiscard]] std::vector<CompletionPrompt>
readPrompts(FieldReader &reader, const nlohmann::ordered_json &value, const char *field);

[[nodiscard]] ApiResult<CompletionRequest> readCompletionRequest(const ServingContext &context,
                                                                 const nlohmann::ordered_json &body);

} // namespace engine
