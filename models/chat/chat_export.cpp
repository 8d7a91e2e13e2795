#include "models/chat/chat_export.h"

#include "models/chat/conversation_codec.h"
#include <QJsonArray>
#include <QJsonDocument>
#include <QSaveFile>

namespace models {
namespace {

QString milliseconds(AnswerMeasurements::Duration duration)
{
    return QString::number(static_cast<double>(duration.count()) / 1000.0, 'f', 1) + QStringLiteral(" ms");
}

QString measurementLine(const AnswerMeasurements &m)
{
    QStringList parts;
    if (m.ttft)
        parts += QStringLiteral("TTFT ") + milliseconds(*m.ttft);
    if (m.tpot)
        parts += QStringLiteral("TPOT ") + milliseconds(*m.tpot);
    if (const auto rate = m.tokensPerSecond())
        parts += QString::number(*rate, 'f', 1) + QStringLiteral(" tok/s");
    if (m.completionTokens)
        parts += QStringLiteral("%1 tokens").arg(*m.completionTokens);
    if (!m.finishReason.isEmpty())
        parts += m.finishReason;
    return parts.join(QStringLiteral(", "));
}

} // namespace

QString toMarkdown(const Conversation &conversation)
{
    QString text = QStringLiteral("# ") + conversation.title + QStringLiteral("\n");
    if (!conversation.systemPrompt.isEmpty())
        text += QStringLiteral("\n## System\n\n") + conversation.systemPrompt + QLatin1Char('\n');
    for (const ChatMessage &message : conversation.path) {
        const bool isUser = message.role == ChatRole::User;
        text += QStringLiteral("\n## ") + (isUser ? QStringLiteral("You") : message.model)
            + QStringLiteral(" (") + message.created.toString(Qt::ISODate) + QStringLiteral(")\n\n");
        if (!message.reasoning.isEmpty()) {
            QString quoted = message.reasoning.trimmed();
            quoted.replace(QLatin1Char('\n'), QStringLiteral("\n> "));
            text += QStringLiteral("> ") + quoted + QStringLiteral("\n\n");
        }
        text += message.content.trimmed() + QLatin1Char('\n');
        if (message.state == MessageState::Cut || message.state == MessageState::Failed)
            text += QStringLiteral("\n*")
                + (message.state == MessageState::Cut ? QStringLiteral("Cut") : QStringLiteral("Failed"))
                + (message.error.isEmpty() ? QString() : QStringLiteral(": ") + message.error)
                + QStringLiteral("*\n");
        if (const QString line = measurementLine(message.measurements); !isUser && !line.isEmpty())
            text += QStringLiteral("\n*") + line + QStringLiteral("*\n");
    }
    return text;
}

QByteArray toJsonText(const Conversation &conversation)
{
    QJsonArray messages;
    for (const ChatMessage &message : conversation.path)
        messages.append(toJson(message));
    const QJsonObject json{
        {QStringLiteral("title"), conversation.title},
        {QStringLiteral("created"), conversation.created.toUTC().toString(Qt::ISODateWithMs)},
        {QStringLiteral("model"), conversation.model},
        {QStringLiteral("system_prompt"), conversation.systemPrompt},
        {QStringLiteral("parameters"), toJson(conversation.parameters)},
        {QStringLiteral("messages"), messages}};
    return QJsonDocument(json).toJson(QJsonDocument::Indented);
}

cluster::Status exportTo(const QString &file, const Conversation &conversation)
{
    const bool isMarkdown = file.endsWith(QLatin1String(".md"), Qt::CaseInsensitive);
    QSaveFile out(file);
    const QByteArray bytes = isMarkdown ? toMarkdown(conversation).toUtf8() : toJsonText(conversation);
    if (!out.open(QIODevice::WriteOnly) || out.write(bytes) != bytes.size() || !out.commit())
        return cluster::fail(cluster::ErrorCode::Internal,
                             "Cannot write " + file.toStdString() + ": " + out.errorString().toStdString()
                                 + ". Choose another place.");
    return {};
}

} // namespace models
