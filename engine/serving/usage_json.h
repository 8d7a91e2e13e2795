#pragma once

#include "engine/serving/generation_group.h"
#include <nlohmann/json_fwd.hpp>
#include <string>

/// Parts of the answers that completions and chat have in common.
namespace engine {

/// `usage` of a whole answer, nulls included. reasoningTokens: -1 without a reasoning parser.
[[nodiscard]] nlohmann::ordered_json fullUsage(const ServingContext &context, const GenerationGroup &group,
                                               int reasoningTokens = -1);

/// `usage` of the last chunk of a stream: without nulls.
[[nodiscard]] nlohmann::ordered_json finalStreamUsage(const ServingContext &context,
                                                      const GenerationGroup &group, int reasoningTokens = -1);

/// `usage` in every chunk: of one choice so far.
[[nodiscard]] nlohmann::ordered_json runningUsage(const GenerationGroup &group, int choice, bool beforeFirst);

[[nodiscard]] const char *finishReasonText(FinishReason reason);
[[nodiscard]] nlohmann::ordered_json stopReason(const Finish &finish); ///< The string, the token id, or null.
[[nodiscard]] nlohmann::ordered_json tokenIds(const std::vector<TokenOutput> &tokens);

} // namespace engine
