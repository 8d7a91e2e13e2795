#include "models/chat/conversation_codec.h"

#include <QJsonValue>

namespace models {
namespace {

using Duration = AnswerMeasurements::Duration;

void put(QJsonObject &json, QLatin1String key, const std::optional<Duration> &value)
{
    if (value)
        json[key] = static_cast<qint64>(value->count());
}

template<typename T>
void put(QJsonObject &json, QLatin1String key, const std::optional<T> &value)
{
    if (value)
        json[key] = *value;
}

void put(QJsonObject &json, QLatin1String key, const QString &value)
{
    if (!value.isEmpty())
        json[key] = value;
}

std::optional<qint64> integer(const QJsonObject &json, QLatin1String key)
{
    const QJsonValue value = json[key];
    return value.isDouble() ? std::optional(value.toInteger()) : std::nullopt;
}

std::optional<double> number(const QJsonObject &json, QLatin1String key)
{
    const QJsonValue value = json[key];
    return value.isDouble() ? std::optional(value.toDouble()) : std::nullopt;
}

std::optional<Duration> duration(const QJsonObject &json, QLatin1String key)
{
    const auto value = integer(json, key);
    return value ? std::optional(Duration(*value)) : std::nullopt;
}

std::optional<int> smallInteger(const QJsonObject &json, QLatin1String key)
{
    const auto value = integer(json, key);
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

QString stateName(MessageState state)
{
    switch (state) {
    case MessageState::Complete:
        return QStringLiteral("complete");
    case MessageState::Streaming:
        return QStringLiteral("streaming");
    case MessageState::Cut:
        return QStringLiteral("cut");
    case MessageState::Failed:
        return QStringLiteral("failed");
    }
    return {};
}

} // namespace

std::optional<double> AnswerMeasurements::tokensPerSecond() const
{
    if (!tpot || tpot->count() <= 0)
        return std::nullopt;
    return 1e6 / static_cast<double>(tpot->count());
}

QJsonObject toJson(const AnswerMeasurements &m)
{
    QJsonObject json;
    put(json, QLatin1String("ttft_us"), m.ttft);
    put(json, QLatin1String("first_answer_us"), m.firstAnswer);
    put(json, QLatin1String("reasoning_us"), m.reasoning);
    put(json, QLatin1String("tpot_us"), m.tpot);
    put(json, QLatin1String("total_us"), m.total);
    put(json, QLatin1String("prompt_tokens"), m.promptTokens);
    put(json, QLatin1String("completion_tokens"), m.completionTokens);
    put(json, QLatin1String("reasoning_tokens"), m.reasoningTokens);
    put(json, QLatin1String("cached_tokens"), m.cachedTokens);
    put(json, QLatin1String("finish_reason"), m.finishReason);
    put(json, QLatin1String("served_by"), m.servedBy);
    return json;
}

AnswerMeasurements measurementsFromJson(const QJsonObject &json)
{
    AnswerMeasurements m;
    m.ttft = duration(json, QLatin1String("ttft_us"));
    m.firstAnswer = duration(json, QLatin1String("first_answer_us"));
    m.reasoning = duration(json, QLatin1String("reasoning_us"));
    m.tpot = duration(json, QLatin1String("tpot_us"));
    m.total = duration(json, QLatin1String("total_us"));
    m.promptTokens = integer(json, QLatin1String("prompt_tokens"));
    m.completionTokens = integer(json, QLatin1String("completion_tokens"));
    m.reasoningTokens = integer(json, QLatin1String("reasoning_tokens"));
    m.cachedTokens = integer(json, QLatin1String("cached_tokens"));
    m.finishReason = json[QLatin1String("finish_reason")].toString();
    m.servedBy = json[QLatin1String("served_by")].toString();
    return m;
}

QJsonObject toJson(const ChatParameters &p)
{
    QJsonObject json;
    put(json, QLatin1String("temperature"), p.temperature);
    put(json, QLatin1String("top_p"), p.topP);
    put(json, QLatin1String("top_k"), p.topK);
    put(json, QLatin1String("max_tokens"), p.maxTokens);
    put(json, QLatin1String("seed"), p.seed);
    put(json, QLatin1String("reasoning_effort"), p.reasoningEffort);
    return json;
}

ChatParameters parametersFromJson(const QJsonObject &json)
{
    ChatParameters p;
    p.temperature = number(json, QLatin1String("temperature"));
    p.topP = number(json, QLatin1String("top_p"));
    p.topK = smallInteger(json, QLatin1String("top_k"));
    p.maxTokens = smallInteger(json, QLatin1String("max_tokens"));
    p.seed = integer(json, QLatin1String("seed"));
    p.reasoningEffort = json[QLatin1String("reasoning_effort")].toString();
    return p;
}

QJsonObject toJson(const ChatMessage &message)
{
    QJsonObject json;
    json[QLatin1String("role")]
        = message.role == ChatRole::User ? QStringLiteral("user") : QStringLiteral("assistant");
    json[QLatin1String("content")] = message.content;
    json[QLatin1String("created")] = message.created.toUTC().toString(Qt::ISODateWithMs);
    put(json, QLatin1String("reasoning"), message.reasoning);
    put(json, QLatin1String("model"), message.model);
    put(json, QLatin1String("error"), message.error);
    if (message.role == ChatRole::Assistant) {
        json[QLatin1String("state")] = stateName(message.state);
        json[QLatin1String("measurements")] = toJson(message.measurements);
    }
    return json;
}

QString titleFor(const QString &question)
{
    constexpr int longest = 60;
    const QString line = question.trimmed().section(QLatin1Char('\n'), 0, 0).simplified();
    if (line.size() <= longest)
        return line;
    const qsizetype space = line.lastIndexOf(QLatin1Char(' '), longest);
    return line.left(space > longest / 2 ? space : longest) + QChar(0x2026);
}

} // namespace models
