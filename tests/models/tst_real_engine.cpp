#include "cluster/net/http_client.h"
#include "models/bridge/job_runner.h"
#include "models/chat/chat_controller.h"
#include "models/chat/chat_library.h"
#include "models/chat/transcript.h"
#include "models/engine/local_engine.h"
#include "models/log/log_buffer.h"
#include "models/metrics/metrics_controller.h"

#include <QFileInfo>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

using models::ChatController;
using models::LocalEngine;

namespace {

constexpr int Patience = 60000; // milliseconds; a cold model on a busy machine

QString modelFile(const char *name)
{
    return QStringLiteral(SLIPWAY_MODELS_DIR "/") + QLatin1String(name);
}

} // namespace

/// The window's models against the engine that is shipped, with a real model.
class RealEngineTest : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void cleanup();
    void stopFreesTheServer();
    void aQuestionIsAnsweredAndShowsInTheCharts();
    void aBaseModelIsKnownAsOne();

private:
    void startEngine(const char *modelFileName);
    double running();
    const models::ChatMessage &last() const { return m_chat->transcript()->messages().last(); }

    QTemporaryDir m_dir;
    models::LogBuffer m_log;
    cluster::HttpClient m_http;
    std::unique_ptr<models::JobRunner> m_jobs;
    std::unique_ptr<LocalEngine> m_engine;
    std::unique_ptr<models::ChatLibrary> m_library;
    std::unique_ptr<ChatController> m_chat;
};

void RealEngineTest::init()
{
    m_jobs = std::make_unique<models::JobRunner>();
    m_engine = std::make_unique<LocalEngine>(*m_jobs, m_http, m_log);
    m_library = std::make_unique<models::ChatLibrary>(m_dir.filePath(QStringLiteral("chats.db")));
    m_library->open();
    m_chat = std::make_unique<ChatController>(*m_jobs, m_http, *m_library);
}

void RealEngineTest::cleanup()
{
    m_chat.reset();
    m_library.reset();
    m_engine.reset();
    m_jobs.reset();
}

void RealEngineTest::startEngine(const char *modelFileName)
{
    models::LocalEngineOptions options;
    options.program = QStringLiteral(SLIPWAY_BIN_DIR "/slipway-engine");
    options.modelPath = modelFile(modelFileName);
    options.servedName = QStringLiteral("model");
    options.arguments = {QStringLiteral("--threads"), QStringLiteral("1")};
    if (!QFileInfo::exists(options.program) || !QFileInfo::exists(options.modelPath))
        QSKIP(qPrintable(QStringLiteral("%1 or %2 is not there").arg(options.program, options.modelPath)));
    m_engine->setOptions(options);
    m_engine->start();
    QTRY_COMPARE_WITH_TIMEOUT(m_engine->state(), LocalEngine::State::Ready, Patience);
    m_chat->setEndpoint({QStringLiteral("This workstation"), m_engine->baseUrl().toString(), {}});
    QTRY_COMPARE_WITH_TIMEOUT(m_chat->model(), QStringLiteral("model"), Patience);
}

/// vllm:num_requests_running as the engine itself tells it; -1 if it does not.
double RealEngineTest::running()
{
    cluster::HttpRequest request;
    request.url = m_engine->baseUrl().resolved(QUrl(QStringLiteral("/metrics"))).toString().toStdString();
    const auto page = m_http.send(request, {});
    static const QRegularExpression line(QStringLiteral("^vllm:num_requests_running\\{[^}]*\\} (\\S+)$"),
                                         QRegularExpression::MultilineOption);
    const auto match = line.match(page ? QString::fromStdString(page->body) : QString());
    return match.hasMatch() ? match.captured(1).toDouble() : -1;
}

void RealEngineTest::stopFreesTheServer()
{
    startEngine("SmolLM2-135M-Instruct.Q4_1.gguf");
    models::ChatParameters parameters;
    parameters.maxTokens = 1500; // far longer than this test lets it run
    m_chat->setParameters(parameters);
    m_chat->send(QStringLiteral("Count from one to one thousand in words, one number a line."));
    QTRY_COMPARE_WITH_TIMEOUT(m_chat->state(), ChatController::State::Streaming, Patience);
    QTRY_COMPARE_WITH_TIMEOUT(running(), 1.0, Patience);
    QVERIFY(m_chat->isBusy());
    m_chat->stop();
    QTRY_VERIFY(!m_chat->isBusy());
    QTRY_COMPARE_WITH_TIMEOUT(running(), 0.0, Patience);
    QVERIFY(!last().content.isEmpty());
    QCOMPARE(last().measurements.finishReason, QStringLiteral("stopped"));
}

void RealEngineTest::aQuestionIsAnsweredAndShowsInTheCharts()
{
    startEngine("SmolLM2-135M-Instruct.Q4_1.gguf");
    models::MetricsOptions options;
    options.historyPath = m_dir.filePath(QStringLiteral("metrics.sqlite"));
    options.interval = std::chrono::milliseconds(200);
    models::MetricsController metrics(*m_jobs, options);
    metrics.setRange(60);
    metrics.setEndpoint({QStringLiteral("This workstation"),
                         m_engine->baseUrl().resolved(QUrl(QStringLiteral("/metrics"))).toString(),
                         {}});
    QTRY_COMPARE_WITH_TIMEOUT(metrics.state(), models::MetricsState::Live, Patience);
    const auto greatest = [&metrics](const QString &chart, const QString &series) {
        double most = -1;
        for (const models::ChartData &data : metrics.charts())
            for (const models::SeriesData &one : data.series)
                if (data.id == chart && one.name == series)
                    for (const models::Sample &sample : one.samples)
                        most = std::fmax(most, sample.value);
        return most;
    };
    models::ChatParameters parameters;
    parameters.maxTokens = 60;
    m_chat->setParameters(parameters);
    m_chat->send(QStringLiteral("What is a slipway?"));
    QTRY_VERIFY_WITH_TIMEOUT(m_chat->state() == ChatController::State::Streaming || !m_chat->isBusy(),
                             Patience);
    QTRY_VERIFY_WITH_TIMEOUT(!m_chat->isBusy(), Patience);
    QCOMPARE(last().state, models::MessageState::Complete);
    QVERIFY(last().measurements.completionTokens.value_or(0) > 0);
    QTRY_VERIFY_WITH_TIMEOUT(greatest(QStringLiteral("tokens"), QStringLiteral("output")) > 0, Patience);
    QTRY_VERIFY_WITH_TIMEOUT(greatest(QStringLiteral("ttft"), QStringLiteral("p50")) > 0, Patience);
    QVERIFY(metrics.modelNames().contains(QStringLiteral("model")));
    for (const models::ChartData &data : metrics.charts())
        QVERIFY2(!data.whyEmpty.contains(QStringLiteral("Waiting")), qPrintable(data.whyEmpty));
}

void RealEngineTest::aBaseModelIsKnownAsOne()
{
    startEngine("gemma-3-270m-q4_k_m.gguf");
    QTRY_VERIFY_WITH_TIMEOUT(m_chat->isCompletionMode(), Patience);
    models::ChatParameters parameters;
    parameters.maxTokens = 8;
    m_chat->setParameters(parameters);
    m_chat->send(QStringLiteral("Once upon a time"));
    QTRY_VERIFY_WITH_TIMEOUT(!m_chat->isBusy(), Patience);
    QCOMPARE(last().state, models::MessageState::Complete);
    QVERIFY(!last().content.isEmpty());
}

QTEST_GUILESS_MAIN(RealEngineTest)
#include "tst_real_engine.moc"
