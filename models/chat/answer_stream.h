#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/openai/client.h"
#include "models/bridge/job_runner.h"
#include "models/chat/chat_request.h"
#include "models/chat/conversation.h"
#include <QObject>
#include <QTimer>
#include <memory>

namespace models {

/// What came since the last batch.
struct AnswerBatch
{
    QString content;
    QString reasoning;
    std::optional<qint64> completionTokens; ///< By the server's usage; absent where it tells only at the end.
    qint64 pieces = 0; ///< Chunks with text so far: an estimate of the tokens, never the count.
    QByteArray raw; ///< Bytes as they came, for the inspector.
    qint64 rawMilliseconds = 0; ///< When `raw` came, since the request was sent.
};

/// How it ended. `state` is Complete only if the server said so.
struct AnswerEnd
{
    MessageState state = MessageState::Cut;
    QString error;
    cluster::ErrorCode code = cluster::ErrorCode::Unknown; ///< Meaningful where `error` is set.
    bool stoppedByUser = false;
    int httpStatus = 0;
    AnswerMeasurements measurements;
    QString content; ///< The whole text, as the joined chunks have it.
    QString reasoning;
};

/// One running request: reads on a thread of the runner, tells the GUI thread in batches of 33 ms.
///
/// Stopping closes the connection, by which vLLM-like servers end the work; ended() follows at once.
/// Threads: lives on the GUI thread. Destruction cancels.
class AnswerStream : public QObject
{
    Q_OBJECT

public:
    static constexpr int batchInterval = 33; ///< ms

    AnswerStream(JobRunner &jobs, cluster::HttpClient &http, QObject *parent = nullptr);
    ~AnswerStream() override;

    void start(const cluster::OpenAiEndpoint &endpoint, const GenerationCall &call);
    void stop();
    [[nodiscard]] bool isRunning() const { return m_isRunning; }
    /// Since the last byte came (or since the start): a server that hangs shows here.
    [[nodiscard]] std::chrono::milliseconds silence() const;

signals:
    void grew(const models::AnswerBatch &batch);
    void ended(const models::AnswerEnd &end);

private:
    struct Shared;

    void deliverBatch();
    void finish(const cluster::AnswerOutcome &outcome);

    JobRunner &m_jobs;
    cluster::HttpClient &m_http;
    std::shared_ptr<Shared> m_shared;
    cluster::CancelSource m_cancel;
    LatestJob m_job;
    QTimer m_timer;
    bool m_isRunning = false;
    bool m_isStopped = false;
};

} // namespace models
