#include "engine/runtime/sampler.h"

#include "engine/runtime/logprobs.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace engine {

namespace {

constexpr float impossible = -std::numeric_limits<float>::infinity();

void ban(std::span<float> logits, TokenId token)
{
    if (token >= 0 && static_cast<std::size_t>(token) < logits.size())
        logits[static_cast<std::size_t>(token)] = impossible;
}

/// Keeps the tokens that top_k and top_p leave; `weights` are unnormalised probabilities by token.
void keepLikely(std::vector<TokenId> &candidates, const std::vector<float> &weights, int topK, double topP)
{
    const auto likelier = [&](TokenId a, TokenId b) {
        const float left = weights[static_cast<std::size_t>(a)];
        const float right = weights[static_cast<std::size_t>(b)];
        return left > right || (left == right && a < b);
    };
    if (topK > 0 && static_cast<std::size_t>(topK) < candidates.size()) {
        std::nth_element(candidates.begin(), candidates.begin() + topK, candidates.end(), likelier);
        candidates.resize(static_cast<std::size_t>(topK));
    }
    if (topP >= 1.0)
        return;
    double total = 0;
    for (const TokenId token : candidates)
        total += static_cast<double>(weights[static_cast<std::size_t>(token)]);
    double sum = 0;
    std::size_t kept = 0;
    for (std::size_t sorted = 0; kept < candidates.size() && sum < topP * total; ++kept) {
        if (kept == sorted) { // Sorting in growing parts: the nucleus is small, the vocabulary is not.
            sorted = std::min(candidates.size(), std::max<std::size_t>(64, 4 * sorted));
            const auto from = candidates.begin() + static_cast<std::ptrdiff_t>(kept);
            std::partial_sort(from, candidates.begin() + static_cast<std::ptrdiff_t>(sorted),
                              candidates.end(), likelier);
        }
        sum += static_cast<double>(weights[static_cast<std::size_t>(candidates[kept])]);
    }
    candidates.resize(std::max<std::size_t>(kept, 1));
}

} // namespace

Sampler::Sampler(Input input)
    : m_input(std::move(input)), m_greedy(m_input.params.temperature < 1e-5),
      m_penalised(m_input.params.presencePenalty != 0 || m_input.params.frequencyPenalty != 0
                  || m_input.params.repetitionPenalty != 1),
      m_random(m_input.seed)
{
    if (m_input.params.repetitionPenalty != 1)
        m_promptTokens.insert(m_input.prompt.begin(), m_input.prompt.end());
    m_input.prompt.clear();
}

bool Sampler::changesLogits() const
{
    const SamplingParams &params = m_input.params;
    return m_penalised || !params.logitBias.empty() || !params.allowedTokenIds.empty()
        || !m_input.badWords.empty() || static_cast<int>(m_output.size()) < params.minTokens;
}

void Sampler::banEarlyEnd(std::span<float> logits) const
{
    if (static_cast<int>(m_output.size()) >= m_input.params.minTokens)
        return;
    for (const TokenId token : m_input.endTokens)
        ban(logits, token);
    for (const TokenId token : m_input.params.stopTokenIds)
        ban(logits, token);
}

void Sampler::banBadWords(std::span<float> logits) const
{
    for (const std::vector<TokenId> &word : m_input.badWords) {
        const std::size_t before = word.size() - 1;
        if (before <= m_output.size()
            && std::equal(word.begin(), word.end() - 1, m_output.end() - static_cast<std::ptrdiff_t>(before)))
            ban(logits, word.back());
    }
}

void Sampler::penalise(std::span<float> logits) const
{
    const SamplingParams &params = m_input.params;
    if (params.repetitionPenalty != 1) {
        const auto factor = static_cast<float>(params.repetitionPenalty);
        const auto repeat = [&](TokenId token) {
            float &value = logits[static_cast<std::size_t>(token)];
            value = value > 0 ? value / factor : value * factor;
        };
        for (const TokenId token : m_promptTokens)
            repeat(token);
        for (const auto &[token, count] : m_counts) {
            if (!m_promptTokens.contains(token))
                repeat(token);
        }
    }
    for (const auto &[token, count] : m_counts) {
        logits[static_cast<std::size_t>(token)]
            -= static_cast<float>(params.frequencyPenalty * count + params.presencePenalty);
    }
}

void Sampler::change(std::span<float> logits) const
{
    const SamplingParams &params = m_input.params;
    if (!params.allowedTokenIds.empty()) {
        std::vector<std::pair<TokenId, float>> kept;
        for (const TokenId token : params.allowedTokenIds) {
            if (token >= 0 && static_cast<std::size_t>(token) < logits.size())
                kept.emplace_back(token, logits[static_cast<std::size_t>(token)]);
        }
        std::fill(logits.begin(), logits.end(), impossible);
        for (const auto &[token, value] : kept)
            logits[static_cast<std::size_t>(token)] = value;
    }
    for (const auto &[token, bias] : params.logitBias) {
        if (token >= 0 && static_cast<std::size_t>(token) < logits.size())
            logits[static_cast<std::size_t>(token)] += bias;
    }
    banBadWords(logits);
    banEarlyEnd(logits);
    if (m_penalised)
        penalise(logits);
}

TokenId Sampler::sample(std::span<const float> logits, SamplerScratch &scratch)
{
    std::span<const float> used = logits;
    if (changesLogits()) {
        scratch.logits.assign(logits.begin(), logits.end());
        change(scratch.logits);
        used = scratch.logits;
    }
    TokenId token = choose(used, scratch);
    if (m_input.grammar && token >= 0 && !m_input.grammar->allows(token)) {
        if (used.data() != scratch.logits.data())
            scratch.logits.assign(logits.begin(), logits.end());
        m_input.grammar->mask(scratch.logits);
        token = choose(scratch.logits, scratch);
    }
    if (token >= 0)
        remember(token);
    return token;
}

TokenId Sampler::choose(std::span<const float> logits, SamplerScratch &scratch)
{
    if (!m_greedy)
        return chooseRandom(logits, scratch);
    const TokenId best = argmax(logits);
    const float value = logits[static_cast<std::size_t>(best)];
    return std::isnan(value) || value == impossible ? -1 : best;
}

TokenId Sampler::chooseRandom(std::span<const float> logits, SamplerScratch &scratch)
{
    const SamplingParams &params = m_input.params;
    const float largest = logits[static_cast<std::size_t>(argmax(logits))];
    if (!std::isfinite(largest))
        return -1;
    const auto scale = static_cast<float>(1.0 / params.temperature);
    scratch.weights.resize(logits.size());
    double total = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const float weight = std::exp((logits[i] - largest) * scale);
        scratch.weights[i]
            = weight >= static_cast<float>(params.minP) ? weight : 0.0F; // The largest weighs 1.
        total += static_cast<double>(scratch.weights[i]);
    }
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    const double draw = uniform(m_random);
    std::vector<TokenId> &candidates = scratch.candidates;
    candidates.clear();
    const bool narrowed = params.topK > 0 || params.topP < 1.0;
    if (narrowed) {
        for (TokenId token = 0; static_cast<std::size_t>(token) < logits.size(); ++token) {
            if (scratch.weights[static_cast<std::size_t>(token)] > 0)
                candidates.push_back(token);
        }
        keepLikely(candidates, scratch.weights, params.topK, params.topP);
        total = 0;
        for (const TokenId token : candidates)
            total += static_cast<double>(scratch.weights[static_cast<std::size_t>(token)]);
    }
    const std::size_t count = narrowed ? candidates.size() : logits.size();
    double left = draw * total;
    TokenId last = -1;
    for (std::size_t i = 0; i < count; ++i) {
        const TokenId token = narrowed ? candidates[i] : static_cast<TokenId>(i);
        const float weight = scratch.weights[static_cast<std::size_t>(token)];
        if (weight <= 0)
            continue;
        last = token;
        left -= static_cast<double>(weight);
        if (left < 0)
            break;
    }
    return last;
}

void Sampler::remember(TokenId token)
{
    m_output.push_back(token);
    if (m_penalised)
        ++m_counts[token];
    if (m_input.grammar)
        m_input.grammar->accept(token);
}

} // namespace engine
