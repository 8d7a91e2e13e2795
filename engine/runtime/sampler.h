#pragma once

#include "engine/runtime/decoder.h"
#include "engine/runtime/grammar.h"
#include <memory>
#include <random>
#include <unordered_map>
#include <unordered_set>

namespace engine {

/// Memory that sampling needs, shared by all requests of one thread.
struct SamplerScratch
{
    std::vector<float> logits;
    std::vector<TokenId> candidates;
    std::vector<float> weights;
};

/// Chooses the next token of one request, and remembers what the request has produced.
///
/// Order: allowed ids, logit bias, bad words, min_tokens -> penalties -> temperature -> min_p -> top_k ->
/// top_p. Grammar: the chosen token is checked first; only a refused one pays for masking the whole
/// vocabulary. Threads: made on any thread, used by one. Source:  vLLM's sampling order; greedy is the most
/// likely token after bias and penalties.
class Sampler
{
public:
    struct Input
    {
        SamplingParams params;
        std::vector<TokenId> prompt; ///< For the repetition penalty.
        std::vector<TokenId> endTokens; ///< Of the model; kept away before min_tokens.
        std::vector<std::vector<TokenId>> badWords; ///< Tokenised, each at least one token.
        std::unique_ptr<Grammar> grammar; ///< May be null.
        std::uint64_t seed = 0;
    };

    explicit Sampler(Input input);

    /// The next token, already remembered. -1 if no token is possible (a grammar at a dead end, only NaN).
    [[nodiscard]] TokenId sample(std::span<const float> logits, SamplerScratch &scratch);

private:
    [[nodiscard]] bool changesLogits() const;
    void change(std::span<float> logits) const;
    void banEarlyEnd(std::span<float> logits) const;
    void banBadWords(std::span<float> logits) const;
    void penalise(std::span<float> logits) const;
    [[nodiscard]] TokenId choose(std::span<const float> logits, SamplerScratch &scratch);
    [[nodiscard]] TokenId chooseRandom(std::span<const float> logits, SamplerScratch &scratch);
    void remember(TokenId token);

    Input m_input;
    bool m_greedy;
    bool m_penalised;
    std::unordered_set<TokenId> m_promptTokens;
    std::unordered_map<TokenId, int> m_counts; // of output tokens
    std::vector<TokenId> m_output;
    std::mt19937_64 m_random;
};

} // namespace engine
