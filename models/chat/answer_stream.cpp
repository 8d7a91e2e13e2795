#include "models/chat/answer_stream.h"

#include "models/chat/thought_splitter.h"
#include <QMutex>
#include <QMutexLocker>

namespace models {
namespace {

using Clock = std::chrono::steady_clock;

std::optional<AnswerMeasurements::Duration> micros(const std::optional<Clock::duration> &value)
{
    return value ? std::optional(std::chrono::duration_cast<AnswerMeasurements::Duration>(*value))
                 : std::nullopt;
}

AnswerMeasurements measurementsOf(const cluster::Answer &answer)
{
    AnswerMeasurements m;
    m.ttft = micros(answer.timings.firstToken);
    m.firstAnswer = micros(answer.timings.firstAnswerToken);
    m.tpot = micros(answer.timePerOutputToken());
    m.total = micros(answer.timings.total);
    m.servedBy = QString::fromStdString(answer.model);
    if (!answer.choices.empty()) {
        m.finishReason = QString::fromStdString(answer.choices.front().finishReason);
        const bool hasReasoning = !answer.choices.front().reasoning.empty();
        if (hasReasoning && m.ttft)
            m.reasoning
                = (m.firstAnswer ? *m.firstAnswer : micros(answer.timings.lastToken).value_or(*m.ttft))
                - *m.ttft;
    }
    if (answer.usage) {
        m.promptTokens = answer.usage->promptTokens;
        m.completionTokens = answer.usage->completionTokens;
        m.cachedTokens = answer.usage->cachedPromptTokens;
        m.reasoningTokens = answer.usage->reasoningTokens;
    }
    return m;
}

} // namespace

/// Filled on the worker, emptied on the GUI thread; everything in it is under the mutex.
struct AnswerStream::Shared
{
    QMutex mutex;
    std::string content;
    std::string reasoning;
    QByteArray raw;
    ThoughtSplitter splitter;
    bool hasReasoningField = false; // The server splits itself.
    bool hasThoughts = false; // Found by us, in the text.
    std::optional<Clock::time_point> firstAnswer; // Behind thoughts that we found
    std::optional<qint64> completionTokens;
    qint64 pieces = 0;
    Clock::time_point started = Clock::now();
    Clock::time_point lastByte = started;

    void add(const cluster::AnswerChunk &chunk)
    {
        const QMutexLocker lock(&mutex);
        bool hasText = false;
        for (const cluster::ChoiceDelta &choice : chunk.choices) {
            if (choice.index != 0)
                continue; // one answer was asked for
            hasReasoningField = hasReasoningField || !choice.reasoning.empty();
            reasoning += choice.reasoning;
            if (hasReasoningField)
                content += choice.content;
            else
                take(splitter.add(choice.content));
            hasText = hasText || !choice.content.empty() || !choice.reasoning.empty();
        }
        pieces += hasText ? 1 : 0;
        if (chunk.usage)
            completionTokens = chunk.usage->completionTokens;
    }

    void take(const ThoughtSplitter::Parts &parts)
    {
        hasThoughts = hasThoughts || !parts.reasoning.empty();
        if (hasThoughts && !firstAnswer && !parts.content.empty())
            firstAnswer = Clock::now();
        content += parts.content;
        reasoning += parts.reasoning;
    }

    void addRaw(std::string_view bytes)
    {
        const QMutexLocker lock(&mutex);
        raw.append(bytes.data(), static_cast<qsizetype>(bytes.size()));
        lastByte = Clock::now();
    }
};

AnswerStream::AnswerStream(JobRunner &jobs, cluster::HttpClient &http, QObject *parent)
    : QObject(parent), m_jobs(jobs), m_http(http)
{
    m_timer.setInterval(batchInterval);
    connect(&m_timer, &QTimer::timeout, this, &AnswerStream::deliverBatch);
}

AnswerStream::~AnswerStream()
{
    m_cancel.request_stop();
}

void AnswerStream::start(const cluster::OpenAiEndpoint &endpoint, const GenerationCall &call)
{
    m_shared = std::make_shared<Shared>();
    m_cancel = cluster::CancelSource();
    m_isRunning = true;
    m_isStopped = false;
    m_timer.start();
    m_job = m_jobs.run(
        this,
        [endpoint, call, shared = m_shared, cancel = m_cancel,
         &http = m_http](const JobContext &context) mutable {
            // The runner's own token stops at the end of the program, ours when the user says so.
            const cluster::CancelCallback chained(context.stopToken(), [&cancel] { cancel.request_stop(); });
            cluster::OpenAiClient client(http, endpoint);
            cluster::StreamHandlers handlers;
            handlers.onRaw = [&shared](std::string_view bytes) { shared->addRaw(bytes); };
            handlers.onChunk = [&shared](const cluster::AnswerChunk &chunk) { shared->add(chunk); };
            cluster::CallOptions options;
            options.cancel = cancel.get_token();
            if (const auto *chat = std::get_if<cluster::ChatRequest>(&call))
                return client.chat(*chat, handlers, options);
            return client.complete(std::get<cluster::CompletionRequest>(call), handlers, options);
        },
        [this](const cluster::AnswerOutcome &outcome) { finish(outcome); });
}

void AnswerStream::stop()
{
    if (!m_isRunning)
        return;
    m_isStopped = true;
    m_cancel.request_stop();
}

std::chrono::milliseconds AnswerStream::silence() const
{
    if (!m_shared)
        return {};
    const QMutexLocker lock(&m_shared->mutex);
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - m_shared->lastByte);
}

void AnswerStream::deliverBatch()
{
    AnswerBatch batch;
    {
        const QMutexLocker lock(&m_shared->mutex);
        if (m_shared->raw.isEmpty() && m_shared->content.empty() && m_shared->reasoning.empty())
            return;
        // Chunks are JSON strings, so each holds whole characters; a batch therefore does too.
        batch.content = QString::fromStdString(m_shared->content);
        batch.reasoning = QString::fromStdString(m_shared->reasoning);
        batch.completionTokens = m_shared->completionTokens;
        batch.pieces = m_shared->pieces;
        batch.raw.swap(m_shared->raw);
        batch.rawMilliseconds
            = std::chrono::duration_cast<std::chrono::milliseconds>(m_shared->lastByte - m_shared->started)
                  .count();
        m_shared->content.clear();
        m_shared->reasoning.clear();
    }
    emit grew(batch);
}

void AnswerStream::finish(const cluster::AnswerOutcome &outcome)
{
    m_timer.stop();
    std::optional<Clock::time_point> firstAnswer;
    bool hasThoughts = false;
    {
        const QMutexLocker lock(&m_shared->mutex);
        m_shared->take(m_shared->splitter.finish());
        firstAnswer = m_shared->firstAnswer;
        hasThoughts = m_shared->hasThoughts;
    }
    deliverBatch();
    m_isRunning = false;
    AnswerEnd end;
    end.httpStatus = outcome.httpStatus;
    end.measurements = measurementsOf(outcome.answer);
    if (hasThoughts && end.measurements.ttft) {
        // The client saw one text; where the answer began in it is known here only.
        const auto until = firstAnswer ? *firstAnswer - m_shared->started : Clock::now() - m_shared->started;
        end.measurements.firstAnswer
            = firstAnswer ? micros(std::optional<Clock::duration>(until)) : std::nullopt;
        end.measurements.reasoning = *micros(std::optional<Clock::duration>(until)) - *end.measurements.ttft;
    }
    if (!outcome.answer.choices.empty()) {
        end.content = QString::fromStdString(outcome.answer.choices.front().content);
        end.reasoning = QString::fromStdString(outcome.answer.choices.front().reasoning);
    }
    if (outcome.status) {
        end.state = MessageState::Complete;
    } else if (m_isStopped && outcome.status.error().code == cluster::ErrorCode::Cancelled) {
        end.stoppedByUser = true;
    } else {
        end.error = QString::fromStdString(outcome.status.error().message);
        end.code = outcome.status.error().code;
        const bool hasText = !end.content.isEmpty() || !end.reasoning.isEmpty();
        end.state = hasText ? MessageState::Cut : MessageState::Failed;
    }
    emit ended(end);
}

} // namespace models
