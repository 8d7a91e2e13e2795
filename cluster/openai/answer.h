#pragma once

#include "cluster/openai/chat_event.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace cluster {

struct ToolCall
{
    std::string id; ///< made up ("call-<choice>-<index>") where the server sent none
    std::string name;
    std::string arguments; ///< JSON text, as far as it came
};

struct AnswerChoice
{
    std::string role;
    std::string content;
    std::string reasoning;
    std::string refusal;
    std::vector<ToolCall> toolCalls;
    std::string finishReason; ///< empty: this choice was cut
    std::string stopReason;
};

/// Measured at the client, from the moment the request was handed to the network.
struct AnswerTimings
{
    using Duration = std::chrono::steady_clock::duration;

    std::optional<Duration> firstToken; ///< TTFT: the first text of any kind, reasoning included
    std::optional<Duration> firstAnswerToken; ///< the first text that is not reasoning
    std::optional<Duration> lastToken;
    Duration total{0};
};

/// What has arrived of an answer.
struct Answer
{
    std::string id;
    std::string model;
    std::string systemFingerprint;
    std::vector<AnswerChoice> choices;
    std::optional<TokenUsage> usage;
    AnswerTimings timings;
    bool isDone = false; ///< [DONE] was seen, or the answer was not streamed

    /// TPOT: (last token - first token) / (tokens - 1). None without usage or with fewer than two tokens.
    [[nodiscard]] std::optional<AnswerTimings::Duration> timePerOutputToken() const;
    /// Generated tokens over the time from the request to the last token. None without usage.
    [[nodiscard]] std::optional<double> tokensPerSecond() const;
};

/// Joins chunks to an Answer. The time is a parameter.
class AnswerBuilder
{
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    explicit AnswerBuilder(TimePoint requestSent);

    void add(const AnswerChunk &chunk, TimePoint now);
    void setDone() { m_answer.isDone = true; }
    /// Sets the total time and fills in what servers leave out. Nothing may be added afterwards.
    void close(TimePoint now);

    [[nodiscard]] const Answer &answer() const { return m_answer; }
    /// True once every choice seen has a finish reason, and there is at least one.
    [[nodiscard]] bool isFinished() const;

private:
    AnswerChoice &choiceAt(int index);
    void addToolCall(AnswerChoice &choice, const ToolCallDelta &delta);
    void noteToken(bool isAnswer, TimePoint now);

    TimePoint m_sent;
    Answer m_answer;
    std::vector<std::vector<int>> m_toolCallIndexes; ///< per choice, in order of appearance
};

} // namespace cluster
