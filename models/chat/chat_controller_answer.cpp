// How an answer comes and ends; the rest of the controller is in chat_controller.cpp.
#include "models/chat/chat_controller.h"

#include "cluster/net/http_client.h"
#include "models/chat/answer_stream.h"
#include "models/chat/chat_library.h"
#include "models/chat/request_log.h"
#include "models/chat/transcript.h"
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QThread>
#include <algorithm>

namespace models {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds saveInterval{500};
constexpr int stallGaps = 20; // A silence this many times the usual gap is a stall.

/// The value of vllm:num_requests_running, summed over engines; absent if the page has none.
std::optional<double> runningCount(const std::string &page)
{
    std::optional<double> sum;
    for (const QByteArray &line : QByteArray::fromStdString(page).split('\n')) {
        if (!line.startsWith("vllm:num_requests_running"))
            continue;
        bool isNumber = false;
        const double value = line.mid(line.lastIndexOf(' ') + 1).toDouble(&isNumber);
        if (isNumber)
            sum = sum.value_or(0) + value;
    }
    return sum;
}

/// A route that vLLM has beside /v1.
QString routeBeside(QString base, const QString &route)
{
    while (base.endsWith(QLatin1Char('/')))
        base.chop(1);
    if (base.endsWith(QLatin1String("/v1")))
        base.chop(3);
    return base + route;
}

QString metricsUrl(const QString &base)
{
    return routeBeside(base, QStringLiteral("/metrics"));
}

bool saysNoTemplate(const QString &error)
{
    return error.contains(QLatin1String("chat template"), Qt::CaseInsensitive)
        || error.contains(QLatin1String("chat_template"), Qt::CaseInsensitive);
}

} // namespace

void ChatController::setState(State state)
{
    if (state == m_state)
        return;
    m_state = state;
    emit stateChanged();
}

void ChatController::onGrew(const AnswerBatch &batch)
{
    m_log->add(batch.raw, batch.rawMilliseconds);
    const auto now = Clock::now();
    m_rate.add(batch.completionTokens, batch.pieces, now);
    if (batch.content.isEmpty() && batch.reasoning.isEmpty())
        return;
    m_transcript->grow(batch.content, batch.reasoning);
    setState(State::Streaming);
    if (now - m_lastSave >= saveInterval) {
        m_lastSave = now;
        m_library.saveProgress(m_transcript->messages().last());
    }
    emit progressed();
}

void ChatController::onTick()
{
    const auto limit = std::max(m_options.shortestStall, m_rate.gapP99() * stallGaps);
    if (m_state == State::Streaming && m_stream->silence() > limit)
        setState(State::Stalled);
    emit progressed();
}

void ChatController::onEnded(const AnswerEnd &end)
{
    m_tick.stop();
    const int index = m_transcript->count() - 1;
    ChatMessage answer = m_transcript->at(index);
    answer.state = end.state;
    answer.measurements = end.measurements;
    answer.error = end.error;
    if (end.stoppedByUser)
        answer.measurements.finishReason = QStringLiteral("stopped");
    m_transcript->replace(index, answer);
    m_library.finishMessage(answer);
    const QString outcome = end.error.isEmpty()
        ? (end.stoppedByUser ? tr("Stopped by you: the connection was closed.")
                             : tr("Finished: %1").arg(end.measurements.finishReason))
        : end.error;
    m_log->end(end.httpStatus > 0 ? tr("HTTP %1. %2").arg(end.httpStatus).arg(outcome) : outcome);
    setState(State::Idle);
    emit progressed();
    emit answered(index);
    reportEnd(end);
    if (end.stoppedByUser)
        checkServerFreed();
}

void ChatController::reportEnd(const AnswerEnd &end)
{
    if (end.error.isEmpty())
        return;
    ChatProblem problem;
    problem.cause = end.error;
    problem.canRetry = true;
    problem.details = tr("Time: %1\nRequest: POST %2\nHTTP status: %3\nModel: %4\nError: %5")
                          .arg(QDateTime::currentDateTime().toString(Qt::ISODate), requestUrl(),
                               end.httpStatus > 0 ? QString::number(end.httpStatus) : tr("none"),
                               m_conversation.model, end.error);
    if (end.state == MessageState::Cut) {
        problem.title = tr("The answer broke off. What came is kept and marked as cut.");
    } else if (!isCompletionMode() && saysNoTemplate(end.error)) {
        problem.kind = ChatProblem::NoTemplate;
        problem.canRetry = false;
        problem.title = tr("%1 has no chat template: it is a base model, which completes text.")
                            .arg(m_conversation.model);
    } else {
        problem.title
            = tr("%1 did not answer.").arg(m_endpoint.name.isEmpty() ? tr("The server") : m_endpoint.name);
    }
    emit problemOccurred(problem);
}

/// A base model is known before the first question: counting the tokens of a message costs the server nothing
/// and is refused where there is no template. Servers without the route tell it when they refuse the
/// question.
void ChatController::checkTemplate()
{
    const QString model = m_conversation.model;
    const bool isServed = std::any_of(m_models.cbegin(), m_models.cend(),
                                      [&model](const ServedModel &served) { return served.id == model; });
    if (!isServed || m_checkedModels.contains(model))
        return;
    m_checkedModels.insert(model);
    cluster::HttpRequest request;
    request.method = "POST";
    request.url = routeBeside(m_endpoint.baseUrl, QStringLiteral("/tokenize")).toStdString();
    request.headers.push_back({"Content-Type", "application/json"});
    if (!m_endpoint.apiKey.isEmpty())
        request.headers.push_back({"Authorization", "Bearer " + m_endpoint.apiKey.toStdString()});
    const QJsonObject hello{{QStringLiteral("role"), QStringLiteral("user")},
                            {QStringLiteral("content"), QStringLiteral("Hello")}};
    request.body = QJsonDocument(QJsonObject{{QStringLiteral("model"), model},
                                             {QStringLiteral("messages"), QJsonArray{hello}}})
                       .toJson(QJsonDocument::Compact)
                       .toStdString();
    m_templateJob = m_jobs.run(
        this,
        [request, &http = m_http](const JobContext &context) {
            cluster::HttpOptions options;
            options.cancel = context.stopToken();
            options.deadline = cluster::Deadline::after(std::chrono::seconds(10));
            const auto answer = http.send(request, options);
            return answer && answer->status == 400 && saysNoTemplate(QString::fromStdString(answer->body));
        },
        [this, model](bool hasNone) {
            if (!hasNone || m_completionModels.contains(model))
                return;
            m_completionModels.insert(model);
            emit settingsChanged();
        });
}

void ChatController::checkServerFreed()
{
    // vLLM-like servers end the work when the connection closes; some proxies hide that from them. Look,
    // don't believe.
    m_freedJob = m_jobs.run(
        this,
        [url = metricsUrl(m_endpoint.baseUrl).toStdString(),
         &http = m_http](const JobContext &context) -> std::optional<double> {
            std::optional<double> running;
            for (int look = 0; look < 15 && !context.stopRequested(); ++look) {
                QThread::msleep(200);
                cluster::HttpOptions options;
                options.cancel = context.stopToken();
                options.deadline = cluster::Deadline::after(std::chrono::seconds(2));
                cluster::HttpRequest request;
                request.url = url;
                const auto page = http.send(request, options);
                running = page && page->status == 200 ? runningCount(page->body) : std::nullopt;
                if (!running || *running == 0)
                    break;
            }
            return running;
        },
        [this](std::optional<double> running) {
            if (!running || *running == 0)
                return;
            emit problemOccurred(
                {ChatProblem::StillRunning,
                 tr("The server still reports %1 running request(s) 3 s after Stop.").arg(*running),
                 tr("Either somebody else uses it, or a proxy between did not pass the closed connection "
                    "on."),
                 metricsUrl(m_endpoint.baseUrl), false});
        });
}

} // namespace models
