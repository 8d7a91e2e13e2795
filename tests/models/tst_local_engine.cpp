#include "cluster/net/http_client.h"
#include "models/bridge/job_runner.h"
#include "models/engine/local_engine.h"
#include "models/log/log_buffer.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <cerrno>
#include <csignal>

using models::LocalEngine;
using State = LocalEngine::State;
using Failure = LocalEngine::Failure;

namespace {

constexpr int Patience = 30000; // milliseconds; never expected to pass

bool isAlive(qint64 pid)
{
    return ::kill(pid_t(pid), 0) == 0 || errno != ESRCH;
}

} // namespace

class LocalEngineTest : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void cleanup();
    void startsBecomesReadyAndStops();
    void isReadyOnlyWhenHealthSaysSo();
    void failsWithAReason_data();
    void failsWithAReason();
    void takesAnotherPortWhenTheFirstIsTaken();
    void givesUpWhenNeverReady();
    void saysWhyItEndedWhileServing();
    void restartsAsAnotherProcess();
    void endsWithItsOwner();

private:
    models::LocalEngineOptions options() const;

    QTemporaryDir m_dir;
    std::unique_ptr<models::LogBuffer> m_log;
    std::unique_ptr<cluster::HttpClient> m_http;
    std::unique_ptr<models::JobRunner> m_jobs;
    std::unique_ptr<LocalEngine> m_engine;
};

models::LocalEngineOptions LocalEngineTest::options() const
{
    models::LocalEngineOptions options;
    options.program = QStringLiteral(FAKE_ENGINE_PROGRAM);
    options.modelPath = m_dir.filePath(QStringLiteral("model.gguf"));
    options.servedName = QStringLiteral("fake");
    options.pollInterval = std::chrono::milliseconds(20);
    return options;
}

void LocalEngineTest::init()
{
    QFile model(m_dir.filePath(QStringLiteral("model.gguf")));
    QVERIFY(model.open(QIODevice::WriteOnly));
    m_log = std::make_unique<models::LogBuffer>();
    m_http = std::make_unique<cluster::HttpClient>();
    m_jobs = std::make_unique<models::JobRunner>();
    m_engine = std::make_unique<LocalEngine>(*m_jobs, *m_http, *m_log);
    m_engine->setOptions(options());
    qunsetenv("FAKE_ENGINE");
}

void LocalEngineTest::cleanup()
{
    m_engine.reset();
    m_jobs.reset();
}

void LocalEngineTest::startsBecomesReadyAndStops()
{
    m_engine->start();
    QCOMPARE(m_engine->state(), State::Starting);
    QVERIFY(m_engine->baseUrl().isEmpty());
    QTRY_COMPARE_WITH_TIMEOUT(m_engine->state(), State::Ready, Patience);
    QVERIFY(m_engine->baseUrl().toString().startsWith(QStringLiteral("http://127.0.0.1:")));
    QVERIFY2(m_log->tail(5).contains(QStringLiteral("fake engine, ready")), qPrintable(m_log->tail(5)));

    const qint64 pid = m_engine->processId();
    m_engine->stop();
    QVERIFY(m_engine->baseUrl().isEmpty());
    QTRY_VERIFY_WITH_TIMEOUT(!isAlive(pid), Patience);
    QCOMPARE(m_engine->state(), State::Stopped);
}

void LocalEngineTest::isReadyOnlyWhenHealthSaysSo()
{
    qputenv("FAKE_ENGINE", "slow");
    QSignalSpy changes(m_engine.get(), &LocalEngine::stateChanged);
    m_engine->start();
    QTRY_COMPARE_WITH_TIMEOUT(m_engine->state(), State::Ready, Patience);
    QCOMPARE(changes.count(), 2); // Starting, Ready: the 503s in between are no states
}

void LocalEngineTest::failsWithAReason_data()
{
    QTest::addColumn<QString>("program");
    QTest::addColumn<QString>("model");
    QTest::addColumn<QByteArray>("behaviour");
    QTest::addColumn<Failure>("failure");
    QTest::addColumn<QString>("words");
    const QString fake = QStringLiteral(FAKE_ENGINE_PROGRAM);
    const QString model = m_dir.filePath(QStringLiteral("model.gguf"));
    QTest::newRow("no program") << QString() << model << QByteArray() << Failure::NoProgram
                                << "slipway-engine";
    QTest::newRow("program is no program") << m_dir.filePath(QStringLiteral("model.gguf")) << model
                                           << QByteArray() << Failure::NoProgram << "slipway-engine";
    QTest::newRow("no model chosen") << fake << QString() << QByteArray() << Failure::NoModel << "No model";
    QTest::newRow("model is not there")
        << fake << "/nowhere/m.gguf" << QByteArray() << Failure::NoModel << "/nowhere/m.gguf";
    QTest::newRow("engine refuses the model")
        << fake << model << QByteArray("dies") << Failure::Died << "blk.0.attn_q.weight";
    QTest::newRow("engine crashes") << fake << model << QByteArray("crashes") << Failure::Died << "signal";
    QTest::newRow("every port is taken")
        << fake << model << QByteArray("port-taken") << Failure::PortTaken << "already in use";
}

void LocalEngineTest::failsWithAReason()
{
    QFETCH(QString, program);
    QFETCH(QString, model);
    QFETCH(QByteArray, behaviour);
    QFETCH(Failure, failure);
    QFETCH(QString, words);
    qputenv("FAKE_ENGINE", behaviour);
    auto options = this->options();
    options.program = program;
    options.modelPath = model;
    m_engine->setOptions(options);
    m_engine->start();
    QTRY_COMPARE_WITH_TIMEOUT(m_engine->state(), State::Failed, Patience);
    QCOMPARE(m_engine->failure(), failure);
    QVERIFY2(m_engine->reason().contains(words), qPrintable(m_engine->reason()));
}

void LocalEngineTest::takesAnotherPortWhenTheFirstIsTaken()
{
    qputenv("FAKE_ENGINE", "port-taken-once");
    qputenv("FAKE_ENGINE_MARK", m_dir.filePath(QStringLiteral("tried")).toUtf8());
    m_engine->start();
    QTRY_COMPARE_WITH_TIMEOUT(m_engine->state(), State::Ready, Patience);
}

void LocalEngineTest::givesUpWhenNeverReady()
{
    qputenv("FAKE_ENGINE", "never-ready");
    auto options = this->options();
    options.startLimit = std::chrono::milliseconds(1500);
    m_engine->setOptions(options);
    m_engine->start();
    QTRY_VERIFY_WITH_TIMEOUT(m_engine->processId() != 0, Patience);
    const qint64 pid = m_engine->processId();
    QTRY_COMPARE_WITH_TIMEOUT(m_engine->state(), State::Failed, Patience);
    QCOMPARE(m_engine->failure(), Failure::NeverReady);
    QTRY_VERIFY_WITH_TIMEOUT(!isAlive(pid), Patience);
    QCOMPARE(m_engine->failure(), Failure::NeverReady); // its end does not hide the reason
}

void LocalEngineTest::saysWhyItEndedWhileServing()
{
    m_engine->start();
    QTRY_COMPARE_WITH_TIMEOUT(m_engine->state(), State::Ready, Patience);
    ::kill(pid_t(m_engine->processId()), SIGKILL);
    QTRY_COMPARE_WITH_TIMEOUT(m_engine->state(), State::Failed, Patience);
    QCOMPARE(m_engine->failure(), Failure::Died);
    QVERIFY2(m_engine->reason().contains(QStringLiteral("signal 9")), qPrintable(m_engine->reason()));
    m_engine->start(); // the way out that the banner offers
    QTRY_COMPARE_WITH_TIMEOUT(m_engine->state(), State::Ready, Patience);
}

void LocalEngineTest::restartsAsAnotherProcess()
{
    m_engine->start();
    QTRY_COMPARE_WITH_TIMEOUT(m_engine->state(), State::Ready, Patience);
    const qint64 before = m_engine->processId();
    m_engine->restart();
    QTRY_VERIFY_WITH_TIMEOUT(m_engine->state() == State::Ready && m_engine->processId() != before, Patience);
    QVERIFY(!isAlive(before));
}

// The owner here is a second copy of this test program, which starts an engine and is killed the hard way.
void LocalEngineTest::endsWithItsOwner()
{
    QProcess owner;
    owner.setReadChannel(QProcess::StandardOutput);
    owner.start(QCoreApplication::applicationFilePath(), {QStringLiteral("--own"), options().modelPath});
    QTRY_VERIFY_WITH_TIMEOUT(owner.canReadLine(), Patience);
    const qint64 pid = owner.readLine().trimmed().toLongLong();
    QVERIFY(pid > 0 && isAlive(pid));
    owner.kill();
    QVERIFY(owner.waitForFinished(Patience));
    QTRY_VERIFY_WITH_TIMEOUT(!isAlive(pid), Patience);
}

namespace {

int ownAnEngine(QCoreApplication &application, const QString &model)
{
    models::LogBuffer log;
    cluster::HttpClient http;
    models::JobRunner jobs;
    LocalEngine engine(jobs, http, log);
    models::LocalEngineOptions options;
    options.program = QStringLiteral(FAKE_ENGINE_PROGRAM);
    options.modelPath = model;
    engine.setOptions(options);
    QObject::connect(&engine, &LocalEngine::stateChanged, &engine, [&engine] {
        if (engine.state() == State::Ready) {
            std::printf("%lld\n", static_cast<long long>(engine.processId()));
            std::fflush(stdout);
        }
    });
    engine.start();
    return application.exec();
}

} // namespace

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    if (application.arguments().value(1) == QStringLiteral("--own"))
        return ownAnEngine(application, application.arguments().value(2));
    LocalEngineTest test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_local_engine.moc"
