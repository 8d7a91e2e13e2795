#pragma once

#include "engine/serving/completion_request.h"
#include "engine/serving/event_gatherer.h"
#include "engine/serving/generation_group.h"
#include "engine/serving/sse_writer.h"
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace engine {

/// Turns the events of a running completion into its answer, whole or streamed.
class CompletionAnswer : public std::enable_shared_from_this<CompletionAnswer>
{
public:
    CompletionAnswer(ContextPtr context, ExchangePtr exchange, CompletionRequest request, std::string id);

    /// The prompts must have their tokens (and with echo their text). Errors: 503 if the queue is full.
    void start(SamplingParams sampling, std::vector<int> maxTokens, Seconds arrival);

private:
    struct Choice
    {
        std::string text;
        std::vector<TokenOutput> tokens;
        std::vector<TokenOutput> promptTokens;
        Finish finish;
        EventGatherer gatherer;
        std::size_t offset = 0; ///< Characters, for text_offset.
        bool started = false;
    };

    void take(int index, const GenerationEvent &event);
    void writeChunk(int index, const GenerationEvent &event);
    void complete();
    void fail(const ApiError &error);
    void release();
    [[nodiscard]] const CompletionPrompt &promptOf(int index) const;
    [[nodiscard]] bool promptOnly() const; ///< echo with max_tokens 0
    [[nodiscard]] nlohmann::ordered_json choiceJson(int index, Choice &choice) const;
    [[nodiscard]] nlohmann::ordered_json logprobsJson(Choice &choice, const std::vector<TokenOutput> &tokens,
                                                      bool withPrompt) const;
    [[nodiscard]] nlohmann::ordered_json chunkHead() const;

    ContextPtr m_context;
    SseWriter m_stream;
    ExchangePtr m_exchange;
    CompletionRequest m_request;
    std::string m_id;
    std::int64_t m_created;
    std::vector<Choice> m_choices;
    std::shared_ptr<GenerationGroup> m_group;
};

} // namespace engine
