#pragma once

#include <QDateTime>
#include <QMetaType>
#include <QString>
#include <QVector>
#include <chrono>
#include <optional>

namespace models {

// The numbers are written to disk: do not change or reuse them.
enum class ChatRole { User = 1, Assistant = 2 };

enum class MessageState {
    Complete = 0, ///< The server said that it was finished (or the user wrote it).
    Streaming = 1, ///< On disk only after a crash; opening the store turns it into Cut.
    Cut = 2, ///< Stopped by the user, or the stream ended early: the text is a part.
    Failed = 3, ///< The server refused; `error` says why.
};

/// What was measured of one answer. Absent means not measured or not told by the server, never zero.
///
/// Source: times by this client's steady clock; token counts from the server's `usage` only.
struct AnswerMeasurements
{
    using Duration = std::chrono::microseconds;
    std::optional<Duration> ttft; ///< Request sent to the first token, be it reasoning or answer.
    std::optional<Duration> firstAnswer; ///< Request sent to the first token of the answer itself.
    std::optional<Duration> reasoning; ///< First token of reasoning to the first token of the answer.
    std::optional<Duration> tpot; ///< (last token - first token) / (output tokens - 1).
    std::optional<Duration> total; ///< Request sent to the last event.
    std::optional<qint64> promptTokens;
    std::optional<qint64> completionTokens;
    std::optional<qint64> reasoningTokens;
    std::optional<qint64> cachedTokens;
    QString finishReason; ///< As the server wrote it: stop, length, ...
    QString servedBy; ///< Model name that the server put into its answer.

    /// Output tokens per second after the first token; absent as tpot is.
    [[nodiscard]] std::optional<double> tokensPerSecond() const;
};

/// What is asked of the sampler. Absent: left out of the request, so that the server's default holds.
struct ChatParameters
{
    std::optional<double> temperature;
    std::optional<double> topP;
    std::optional<int> topK;
    std::optional<int> maxTokens;
    std::optional<qint64> seed;
    QString reasoningEffort; ///< low, medium, high or empty.

    bool operator==(const ChatParameters &) const = default;
};

struct ChatMessage
{
    qint64 id = 0;
    qint64 parent = 0; ///< The message it answers or follows; 0 for the first one.
    ChatRole role = ChatRole::User;
    MessageState state = MessageState::Complete;
    QString content;
    QString reasoning;
    QString model;
    QString error;
    QDateTime created;
    AnswerMeasurements measurements;
    int variant = 1; ///< 1-based place among the messages with the same parent; filled in by the store.
    int variantCount = 1;
};

struct ConversationSummary
{
    qint64 id = 0;
    QString title;
    QDateTime updated;
    int messageCount = 0;
    QString snippet; ///< The place found, when this comes from a search.
};

/// A conversation is a tree of messages (regenerate and edit add siblings); `path` is the branch shown.
struct Conversation
{
    qint64 id = 0;
    QString title;
    QString systemPrompt;
    QString model;
    ChatParameters parameters;
    QDateTime created;
    QVector<ChatMessage> path;
};

} // namespace models

Q_DECLARE_METATYPE(models::ConversationSummary)
