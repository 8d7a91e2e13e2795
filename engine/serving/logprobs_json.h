#pragma once

#include "engine/protocol/messages.h"
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

/// Log-probabilities in vLLM's three shapes. -inf is sent as -9999.0.
namespace engine {

/// {"text_offset", "token_logprobs", "tokens", "top_logprobs"} of completions. offset: characters of the text
/// before these tokens; moved on. A token without a value (the first of a prompt) gives null.
[[nodiscard]] nlohmann::ordered_json completionLogprobs(const std::vector<TokenOutput> &tokens, int top,
                                                        bool tokensAsIds, std::size_t &offset);

/// {"content": [{"token", "logprob", "bytes", "top_logprobs"}]} of chat.
[[nodiscard]] nlohmann::ordered_json chatLogprobs(const std::vector<TokenOutput> &tokens, int top,
                                                  bool tokensAsIds);

/// [null, {"id": {"logprob", "rank", "decoded_token"}}, …]
[[nodiscard]] nlohmann::ordered_json promptLogprobs(const std::vector<TokenOutput> &promptTokens);

/// The bytes as valid UTF-8; what is broken becomes U+FFFD.
[[nodiscard]] std::string readableUtf8(const std::string &bytes);

/// Compact JSON text; broken UTF-8 is replaced.
[[nodiscard]] std::string toText(const nlohmann::ordered_json &json);

} // namespace engine
