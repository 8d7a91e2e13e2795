#pragma once

#include "engine/serving/serving_context.h"
#include <functional>
#include <memory>
#include <vector>

namespace engine {

/// What one HTTP request asks of the engine: n answers to each of its prompts.
struct GenerationPlan
{
    std::vector<std::vector<TokenId>> prompts;
    std::vector<int> maxTokens; ///< One for each prompt.
    SamplingParams sampling; ///< maxTokens is taken from above.
    int n = 1;
    int priority = 0;
    std::string cacheSalt;
    Seconds arrival{};
};

/// Runs the sequences of one request and keeps their counts and metrics. Choice number: prompt * n + i.
class GenerationGroup : public std::enable_shared_from_this<GenerationGroup>
{
public:
    struct Handlers
    {
        std::function<void(int choice, const GenerationEvent &)> event;
        std::function<void(const RequestFailure &)> failed; ///< Once; the other choices are cancelled.
        std::function<void()>
            done; ///< After the last event of the last choice; not after failed or cancel().
    };

    /// Errors: 503 if the queue is full.
    [[nodiscard]] static ApiResult<std::shared_ptr<GenerationGroup>>
    start(ContextPtr context, GenerationPlan plan, Handlers handlers);
    ~GenerationGroup();

    void cancel(); ///< The client has gone, or the rest is not wanted.

    void forget(); ///< Drops the handlers, which may hold the owner; nothing is told any more.

    [[nodiscard]] int choiceCount() const { return static_cast<int>(m_sequences.size()); }
    [[nodiscard]] int promptTokens() const; ///< Of all prompts, each once.
    [[nodiscard]] int promptTokensOf(int choice) const;
    [[nodiscard]] int completionTokens() const; ///< Of all choices.
    [[nodiscard]] int completionTokensOf(int choice) const;
    [[nodiscard]] int cachedTokens() const; ///< Of the first choice of each prompt.

    GenerationGroup(ContextPtr context, GenerationPlan plan, Handlers handlers); ///< Use start().

private:
    struct Sequence
    {
        RequestId id = 0;
        std::size_t prompt = 0;
        int generated = 0;
        int cached = 0;
        int preemptions = 0;
        Seconds lastToken{};
        RequestTimes times;
        bool prefilled = false;
        bool ended = false;
    };

    void submit();
    void handle(int choice, const std::variant<GenerationEvent, RequestFailure> &message);
    void dispatch(int choice, const std::variant<GenerationEvent, RequestFailure> &message);
    void observe(Sequence &sequence, const GenerationEvent &event);
    void end(Sequence &sequence, FinishReason reason, bool countReason);
    void endPrefill(Sequence &sequence);
    void fail(const RequestFailure &failure);

    ContextPtr m_context;
    GenerationPlan m_plan;
    Handlers m_handlers;
    std::vector<Sequence> m_sequences;
    bool m_over = false;
    bool m_forgotten = false;
    int m_dispatching = 0;
};

} // namespace engine
