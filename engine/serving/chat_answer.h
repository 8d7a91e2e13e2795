#pragma once

#include "engine/serving/chat_content.h"
#include "engine/serving/chat_request.h"
#include "engine/serving/event_gatherer.h"
#include "engine/serving/generation_group.h"
#include "engine/serving/sse_writer.h"
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace engine {

/// Turns the events of a running chat into its answer, whole or streamed.
class ChatAnswer : public std::enable_shared_from_this<ChatAnswer>
{
public:
    ChatAnswer(ContextPtr context, ExchangePtr exchange, ChatRequest request, Prompt prompt, std::string id);

    /// Errors: 503 if the queue is full.
    void start(SamplingParams sampling, int maxTokens, Seconds arrival);

private:
    struct Choice
    {
        std::unique_ptr<ChatContent> content;
        std::string text;
        std::vector<TokenOutput> tokens;
        Finish finish;
        EventGatherer gatherer;
    };

    void take(int index, const GenerationEvent &event);
    void countReasoning(Choice &choice, const GenerationEvent &event);
    void writeRoles();
    void writeEvent(int index, const GenerationEvent &event);
    void writeChunk(int index, nlohmann::ordered_json choice, bool isLast, bool beforeFirst);
    void complete();
    void fail(const ApiError &error);
    void release();
    [[nodiscard]] std::string reasonText(const Choice &choice) const;
    [[nodiscard]] nlohmann::ordered_json choiceJson(int index, Choice &choice) const;
    [[nodiscard]] nlohmann::ordered_json logprobsJson(const std::vector<TokenOutput> &tokens) const;
    [[nodiscard]] nlohmann::ordered_json head(const char *object) const;
    [[nodiscard]] int reasoningTokens() const; ///< -1 without a parser.

    ContextPtr m_context;
    SseWriter m_stream;
    ExchangePtr m_exchange;
    ChatRequest m_request;
    Prompt m_prompt;
    std::string m_id;
    std::int64_t m_created;
    std::vector<Choice> m_choices;
    std::vector<TokenOutput> m_promptTokens;
    std::shared_ptr<GenerationGroup> m_group;
    int m_reasoningTokens = 0;
    bool m_rolesSent = false;
};

} // namespace engine
