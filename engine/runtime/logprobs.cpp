#include "engine/runtime/logprobs.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace engine {

namespace {

// Independent lanes: the maximum of floats is a chain of dependent instructions otherwise.
float maximum(std::span<const float> values)
{
    constexpr std::size_t lanes = 16;
    std::array<float, lanes> best{};
    best.fill(values[0]);
    std::size_t i = 0;
    for (; i + lanes <= values.size(); i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane)
            best[lane] = values[i + lane] > best[lane] ? values[i + lane] : best[lane];
    }
    for (; i < values.size(); ++i)
        best[0] = std::max(best[0], values[i]);
    return *std::max_element(best.begin(), best.end());
}

Logprob logprobOf(TokenId token, std::span<const float> logits, double normaliser,
                  const Vocabulary &vocabulary)
{
    Logprob result;
    result.token = token;
    const float own = logits[static_cast<std::size_t>(token)];
    result.logprob = static_cast<float>(static_cast<double>(own) - normaliser);
    result.piece = vocabulary.piece(token);
    return result;
}

std::vector<TokenId> bestTokens(std::span<const float> logits, std::size_t count)
{
    std::vector<TokenId> heap; // The smallest of the best is at the front.
    const auto better = [&](TokenId a, TokenId b) {
        const float left = logits[static_cast<std::size_t>(a)];
        const float right = logits[static_cast<std::size_t>(b)];
        return left > right || (left == right && a < b);
    };
    for (TokenId token = 0; static_cast<std::size_t>(token) < logits.size(); ++token) {
        if (heap.size() == count) {
            if (!better(token, heap.front()))
                continue;
            std::pop_heap(heap.begin(), heap.end(), better);
            heap.pop_back();
        }
        heap.push_back(token);
        std::push_heap(heap.begin(), heap.end(), better);
    }
    std::sort_heap(heap.begin(), heap.end(), better);
    return heap;
}

} // namespace

TokenId argmax(std::span<const float> logits)
{
    const float best = maximum(logits);
    const auto found = std::find(logits.begin(), logits.end(), best);
    return found == logits.end() ? 0 : static_cast<TokenId>(found - logits.begin());
}

double logSumExp(std::span<const float> logits)
{
    const float largest = maximum(logits);
    if (!std::isfinite(largest))
        return static_cast<double>(largest);
    double sum = 0;
    for (const float value : logits)
        sum += static_cast<double>(std::exp(value - largest));
    return static_cast<double>(largest) + std::log(sum);
}

TokenOutput describeToken(TokenId token, std::span<const float> logits, int k, const Vocabulary &vocabulary)
{
    TokenOutput output;
    output.token = token;
    output.piece = vocabulary.piece(token);
    const double normaliser = logSumExp(logits);
    Logprob own = logprobOf(token, logits, normaliser, vocabulary);
    const float value = logits[static_cast<std::size_t>(token)];
    own.rank = 1
        + static_cast<int>(std::count_if(logits.begin(), logits.end(), [&](float x) { return x > value; }));
    output.logprob = std::move(own);
    if (k > 0) {
        const std::size_t count = std::min(static_cast<std::size_t>(k), logits.size());
        int rank = 0;
        for (const TokenId best : bestTokens(logits, count)) {
            output.top.push_back(logprobOf(best, logits, normaliser, vocabulary));
            output.top.back().rank = ++rank;
        }
    }
    return output;
}

} // namespace engine
