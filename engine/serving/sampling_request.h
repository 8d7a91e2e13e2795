#pragma once

#include "engine/protocol/messages.h"
#include "engine/serving/field_reader.h"
#include "engine/serving/server_options.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace engine {

/// The fields that completions and chat share, of the right types but not yet in range.
struct SamplingFields
{
    std::string model; ///< Empty: the first served one.
    std::int64_t n = 1;
    std::int64_t bestOf = 0; ///< Old dialect only; 0: not given.
    std::optional<std::int64_t> maxTokens;
    std::int64_t minTokens = 0;
    double temperature = 1.0;
    double topP = 1.0;
    std::int64_t topK = 0;
    double minP = 0.0;
    double presencePenalty = 0.0;
    double frequencyPenalty = 0.0;
    double repetitionPenalty = 1.0;
    std::optional<std::int64_t> seed;
    std::vector<std::string> stop;
    std::vector<std::int64_t> stopTokenIds;
    bool includeStop = false;
    bool ignoreEos = false;
    bool skipSpecialTokens = true;
    std::optional<std::vector<std::pair<std::string, double>>> logitBias;
    std::optional<std::vector<std::int64_t>> allowedTokenIds;
    std::vector<std::string> badWords;
    std::optional<std::int64_t> promptLogprobs;
    std::optional<std::int64_t> truncatePromptTokens;
    std::int64_t priority = 0;
    std::string cacheSalt;
    std::string requestId;
    bool beamSearch = false;
    bool echo = false;
    bool stream = false;
    bool includeUsage = false;
    bool continuousUsage = false;
    bool returnTokenIds = false;
    bool tokensAsIds = false;
    bool addSpecialTokens = true;
};

[[nodiscard]] SamplingFields readSamplingFields(FieldReader &reader, const ServerOptions &options,
                                                const Dialect &dialect);

/// Rules over several fields that vLLM checks before it looks at the model.
[[nodiscard]] std::optional<ApiError> checkSharedRules(const FieldReader &reader,
                                                       const SamplingFields &fields, const Dialect &dialect);

/// 404 for a name that is not served; else the name that goes into the answer.
[[nodiscard]] ApiResult<std::string> resolveModel(const std::string &asked, const ServerOptions &options,
                                                  const Dialect &dialect);

/// Ranges, as SamplingParams of vLLM has them. logprobs: -1 none; promptTokens and facts bound the length.
[[nodiscard]] ApiResult<SamplingParams> makeSampling(const SamplingFields &fields, std::int64_t logprobs,
                                                     const Dialect &dialect);

/// What vLLM finds only in its engine, so that a stream has already begun (status 200 and an error event).
[[nodiscard]] std::optional<ApiError> checkAgainstEngine(const SamplingFields &fields, std::int64_t logprobs,
                                                         const ServerOptions &options, const Dialect &dialect,
                                                         int vocabularySize);

/// Keeps the last truncate_prompt_tokens tokens; -1 is the whole context.
void truncatePrompt(std::vector<TokenId> &tokens, const SamplingFields &fields, int maxModelLen);

/// Fits maxTokens of the request to the prompt and the context, or says why that is impossible.
[[nodiscard]] ApiResult<int> fitMaxTokens(const SamplingFields &fields, std::size_t promptTokens,
                                          int maxModelLen, int cap, const Dialect &dialect);

/// Refuses a max_tokens above the whole context before anything is tokenised (newest dialect), and texts that
/// are too long whatever the tokeniser makes of them.
[[nodiscard]] std::optional<ApiError> checkLengthsEarly(const SamplingFields &fields, std::size_t textBytes,
                                                        int maxModelLen, const Dialect &dialect);

} // namespace engine
