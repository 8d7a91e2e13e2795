#include "models/chat/chat_request.h"

#include "cluster/openai/request_text.h"
#include <QJsonDocument>
#include <QJsonObject>

namespace models {
namespace {

QString textOf(const cluster::Result<std::string> &text)
{
    return QString::fromStdString(text ? *text : text.error().message);
}

void setCommon(cluster::GenerationRequest &request, const Conversation &conversation)
{
    const ChatParameters &p = conversation.parameters;
    request.model = conversation.model.toStdString();
    request.sampling.temperature = p.temperature;
    request.sampling.topP = p.topP;
    request.sampling.topK = p.topK;
    request.sampling.maxTokens = p.maxTokens;
    if (p.seed)
        request.sampling.seed = *p.seed;
    // Counts in each chunk keep the numbers right while it streams; who does not know the field ignores it.
    QJsonObject extra{{QStringLiteral("stream_options"),
                       QJsonObject{{QStringLiteral("include_usage"), true},
                                   {QStringLiteral("continuous_usage_stats"), true}}}};
    if (!p.reasoningEffort.isEmpty())
        extra[QStringLiteral("reasoning_effort")] = p.reasoningEffort;
    request.extraJson = QJsonDocument(extra).toJson(QJsonDocument::Compact).toStdString();
}

bool isPartOfHistory(const ChatMessage &message)
{
    return message.state != MessageState::Failed && !message.content.isEmpty();
}

} // namespace

GenerationCall requestFor(const Conversation &conversation, bool asCompletion)
{
    if (asCompletion) {
        cluster::CompletionRequest request;
        setCommon(request, conversation);
        for (const ChatMessage &message : conversation.path)
            if (isPartOfHistory(message))
                request.prompt += message.content.toStdString();
        return request;
    }
    cluster::ChatRequest request;
    setCommon(request, conversation);
    const auto add = [&request](const char *role, const QString &text) {
        cluster::ChatMessage message;
        message.role = role;
        message.content = text.toStdString();
        request.messages.push_back(std::move(message));
    };
    if (!conversation.systemPrompt.trimmed().isEmpty())
        add("system", conversation.systemPrompt);
    for (const ChatMessage &message : conversation.path)
        if (isPartOfHistory(message))
            add(message.role == ChatRole::User ? "user" : "assistant", message.content);
    return request;
}

QString bodyText(const GenerationCall &call)
{
    return std::visit([](const auto &request) { return textOf(cluster::bodyText(request, 2)); }, call);
}

QString curlText(const QString &baseUrl, bool hasApiKey, const GenerationCall &call)
{
    return std::visit(
        [&](const auto &request) {
            return textOf(cluster::asCurl(baseUrl.toStdString(), hasApiKey, request));
        },
        call);
}

QString pythonText(const QString &baseUrl, bool hasApiKey, const GenerationCall &call)
{
    return std::visit(
        [&](const auto &request) {
            return textOf(cluster::asPython(baseUrl.toStdString(), hasApiKey, request));
        },
        call);
}

} // namespace models
