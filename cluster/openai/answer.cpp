#include "cluster/openai/answer.h"

#include <algorithm>

namespace cluster {

namespace {

constexpr int maxChoices = 16384; // vLLM's own limit; a wild index must not take all memory

} // namespace

std::optional<AnswerTimings::Duration> Answer::timePerOutputToken() const
{
    if (!usage || usage->completionTokens < 2 || !timings.firstToken || !timings.lastToken)
        return std::nullopt;
    return (*timings.lastToken - *timings.firstToken) / (usage->completionTokens - 1);
}

std::optional<double> Answer::tokensPerSecond() const
{
    if (!usage || !timings.lastToken || timings.lastToken->count() <= 0)
        return std::nullopt;
    return static_cast<double>(usage->completionTokens)
        / std::chrono::duration<double>(*timings.lastToken).count();
}

AnswerBuilder::AnswerBuilder(TimePoint requestSent) : m_sent(requestSent) {}

void AnswerBuilder::add(const AnswerChunk &chunk, TimePoint now)
{
    if (!chunk.id.empty())
        m_answer.id = chunk.id;
    if (!chunk.model.empty())
        m_answer.model = chunk.model;
    if (!chunk.systemFingerprint.empty())
        m_answer.systemFingerprint = chunk.systemFingerprint;
    if (chunk.usage)
        m_answer.usage = chunk.usage;
    for (const ChoiceDelta &delta : chunk.choices) {
        if (delta.index < 0 || delta.index >= maxChoices)
            continue;
        AnswerChoice &choice = choiceAt(delta.index);
        if (choice.role.empty())
            choice.role = delta.role;
        choice.content += delta.content;
        choice.reasoning += delta.reasoning;
        choice.refusal += delta.refusal;
        for (const ToolCallDelta &call : delta.toolCalls)
            addToolCall(choice, call);
        if (!delta.finishReason.empty())
            choice.finishReason = delta.finishReason;
        if (!delta.stopReason.empty())
            choice.stopReason = delta.stopReason;
        const bool isAnswer = !delta.content.empty() || !delta.toolCalls.empty() || !delta.refusal.empty();
        if (isAnswer || !delta.reasoning.empty())
            noteToken(isAnswer, now);
    }
}

void AnswerBuilder::close(TimePoint now)
{
    m_answer.timings.total = now - m_sent;
    for (std::size_t c = 0; c < m_answer.choices.size(); ++c) {
        std::vector<ToolCall> &calls = m_answer.choices[c].toolCalls;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            if (calls[i].id.empty())
                calls[i].id = "call-" + std::to_string(c) + "-" + std::to_string(i);
        }
    }
}

bool AnswerBuilder::isFinished() const
{
    return !m_answer.choices.empty()
        && std::ranges::none_of(m_answer.choices,
                                [](const AnswerChoice &choice) { return choice.finishReason.empty(); });
}

AnswerChoice &AnswerBuilder::choiceAt(int index)
{
    const auto place = static_cast<std::size_t>(index);
    if (place >= m_answer.choices.size()) {
        m_answer.choices.resize(place + 1);
        m_toolCallIndexes.resize(place + 1);
    }
    return m_answer.choices[place];
}

void AnswerBuilder::addToolCall(AnswerChoice &choice, const ToolCallDelta &delta)
{
    const auto place = static_cast<std::size_t>(&choice - m_answer.choices.data());
    std::vector<int> &indexes = m_toolCallIndexes[place];
    const auto found = std::ranges::find(indexes, delta.index);
    const auto slot = static_cast<std::size_t>(found - indexes.begin());
    if (found == indexes.end()) {
        indexes.push_back(delta.index);
        choice.toolCalls.emplace_back();
    }
    ToolCall &call = choice.toolCalls[slot];
    // Some servers repeat the name in every piece: only the first counts.
    if (call.id.empty())
        call.id = delta.id;
    if (call.name.empty())
        call.name = delta.name;
    call.arguments += delta.arguments;
}

void AnswerBuilder::noteToken(bool isAnswer, TimePoint now)
{
    AnswerTimings &timings = m_answer.timings;
    timings.lastToken = now - m_sent;
    if (!timings.firstToken)
        timings.firstToken = timings.lastToken;
    if (isAnswer && !timings.firstAnswerToken)
        timings.firstAnswerToken = timings.lastToken;
}

} // namespace cluster
