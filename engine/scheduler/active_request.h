#pragma once

#include "engine/runtime/sampler.h"
#include "engine/scheduler/prefix_tree.h"
#include "engine/scheduler/text_stream.h"
#include <limits>

namespace engine {

/// A request that waits or runs. It owes the decoder the tokens that have no cell yet: the prompt at first,
/// then one at a time, after a preemption prompt and answer again.
struct ActiveRequest
{
    ActiveRequest(GenerateRequest asked, std::unique_ptr<Sampler> chooser, std::uint64_t order)
        : request(std::move(asked)), sampler(std::move(chooser)),
          text(request.sampling.stop, request.sampling.includeStopInOutput), arrival(order),
          tokens(request.prompt)
    {
    }

    GenerateRequest request;
    std::unique_ptr<Sampler> sampler;
    TextStream text;
    std::uint64_t arrival; ///< Order of coming.

    std::vector<TokenId> tokens; ///< Prompt and answer.
    int outputCount = 0;

    int sequence = -1; ///< -1: waiting, has no cells.
    int computed = 0; ///< Tokens with a cell.
    PrefixTree::Node *node = nullptr; ///< Locked; the cells up to its end belong to the tree.

    bool admittedBefore = false;
    bool firstEventSent = false;
    int cachedPromptTokens = 0;
    int preemptions = 0;
    std::vector<TokenOutput> promptTokens; ///< If prompt log-probabilities were asked for.
    int neededBy = std::numeric_limits<int>::max(); ///< Tokens that a held-back request waits for.
    RequestTimes times;

    [[nodiscard]] int owed() const { return static_cast<int>(tokens.size()) - computed; }
    [[nodiscard]] int promptLength() const { return static_cast<int>(tokens.size()) - outputCount; }
    [[nodiscard]] bool readsPromptLogits() const
    {
        return request.sampling.promptLogprobs >= 0 && !firstEventSent;
    }
    [[nodiscard]] int privateCells() const
    {
        return computed - (node != nullptr ? PrefixTree::end(node) : 0);
    }

    /// First come, first served within a priority.
    [[nodiscard]] bool isBefore(const ActiveRequest &other) const
    {
        return request.priority != other.request.priority ? request.priority < other.request.priority
                                                          : arrival < other.arrival;
    }
};

} // namespace engine
