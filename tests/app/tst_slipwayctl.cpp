// The program itself against servers that answer well and badly.

#include "tests/support/loopback_server.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <atomic>
#include <csignal>
#include <fstream>

using tests::Exchange;
using tests::LoopbackServer;

namespace {

std::string textEvent(const std::string &text, const std::string &finish = "null")
{
    return R"(data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":")" + text
        + R"("},"finish_reason":)" + finish + "}]}\n\n";
}

void respondWithModels(Exchange &exchange)
{
    exchange.respond(200, "application/json", R"({"object":"list","data":[{"id":"m"}]})");
}

void respondWell(Exchange &exchange)
{
    if (exchange.request().target == "/v1/models")
        return respondWithModels(exchange);
    exchange.beginChunked(200, "text/event-stream");
    exchange.writeChunk(textEvent("Hel") + textEvent("lo", R"("stop")"));
    exchange.writeChunk(
        R"(data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}})"
        "\n\ndata: [DONE]\n\n");
    exchange.endChunks();
}

struct Ended
{
    int status = -1;
    QByteArray out;
    QByteArray err;
};

Ended run(const QStringList &arguments, const QByteArray &input = {})
{
    QProcess process;
    process.start(SLIPWAY_BIN_DIR "/slipwayctl", arguments);
    process.write(input);
    process.closeWriteChannel();
    process.waitForFinished(60000);
    return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
}

QJsonObject objectOf(const QByteArray &text)
{
    return QJsonDocument::fromJson(text).object();
}

} // namespace

class TestSlipwayctl : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void saysItsVersion();
    void refusesWrongUsage_data();
    void refusesWrongUsage();
    void outputThatCanNotBeWrittenIsAFailure_data();
    void outputThatCanNotBeWrittenIsAFailure();
    void anEmptyBaseUrlIsWrongUsage();
    void withoutAHomeTheStoreIsNotInTheWorkingDirectory();
    void chats();
    void chatsFromStandardInput();
    void chatsAsJson();
    void aFailureIsOneLineAndAStatus_data();
    void aFailureIsOneLineAndAStatus();
    void aFailureIsJsonWhereAsked();
    void interruptStopsTheStreamAndTheServer();
    void aReaderThatLeavesIsNoError();
    void completes();
    void showsMetrics();
    void listsAndRegistersModels();
    void refusesToChatWithABaseModel();
    void serveStartsTheEngineWithTheModelsPath();

private:
    QTemporaryDir m_cache;
};

void TestSlipwayctl::init()
{
    qputenv("SLIPWAY_CACHE", m_cache.path().toUtf8());
    qunsetenv("OPENAI_API_KEY");
}

void TestSlipwayctl::saysItsVersion()
{
    const Ended ended = run({"--version"});
    QCOMPARE(ended.status, 0);
    QVERIFY(ended.out.startsWith("slipwayctl "));
}

void TestSlipwayctl::refusesWrongUsage_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("named"); // what the line must name
    QTest::newRow("nothing") << QStringList{} << QByteArray("--help");
    QTest::newRow("unknown command") << QStringList{"dance"} << QByteArray("'dance'");
    QTest::newRow("unknown option") << QStringList{"chat", "--loud"} << QByteArray("--loud");
    QTest::newRow("message without -m") << QStringList{"chat", "hello"} << QByteArray("-m");
    QTest::newRow("serve without a model") << QStringList{"serve"} << QByteArray("which model");
    QTest::newRow("unknown format") << QStringList{"models", "list", "-o", "xml"} << QByteArray("xml");
    QTest::newRow("name missing") << QStringList{"models", "verify"} << QByteArray("NAME");
    QTest::newRow("no message") << QStringList{"chat", "--base-url", "http://127.0.0.1:1"}
                                << QByteArray("-m");
}

void TestSlipwayctl::refusesWrongUsage()
{
    QFETCH(QStringList, arguments);
    QFETCH(QByteArray, named);
    const Ended ended = run(arguments);
    QCOMPARE(ended.status, 2);
    QVERIFY2(ended.err.startsWith("slipwayctl: ") && ended.err.count('\n') == 1, ended.err.constData());
    QVERIFY2(ended.err.contains(named), ended.err.constData());
}

void TestSlipwayctl::outputThatCanNotBeWrittenIsAFailure_data()
{
    QTest::addColumn<QString>("redirection");
    QTest::addColumn<int>("status");
    QTest::newRow("full disk") << ">/dev/full" << 1;
    QTest::newRow("closed") << ">&-" << 1;
    QTest::newRow("a reader that goes") << "| true" << 0;
}

void TestSlipwayctl::outputThatCanNotBeWrittenIsAFailure()
{
    QFETCH(QString, redirection);
    QFETCH(int, status);
    QProcess process;
    process.start(
        QStringLiteral("/bin/sh"),
        {QStringLiteral("-c"), QStringLiteral(SLIPWAY_BIN_DIR "/slipwayctl models list ") + redirection});
    QVERIFY(process.waitForFinished(60000));
    QCOMPARE(process.exitCode(), status);
    QCOMPARE(process.readAllStandardError().contains("can't write to standard output"), status != 0);
}

void TestSlipwayctl::anEmptyBaseUrlIsWrongUsage()
{
    const Ended ended = run({QStringLiteral("chat"), QStringLiteral("-m"), QStringLiteral("x"),
                             QStringLiteral("--base-url"), QString()});
    QCOMPARE(ended.status, 2);
    QVERIFY2(ended.err.contains("--base-url is empty"), ended.err.constData());
}

void TestSlipwayctl::withoutAHomeTheStoreIsNotInTheWorkingDirectory()
{
    QTemporaryDir folder;
    QProcess process;
    process.setWorkingDirectory(folder.path());
    QProcessEnvironment environment;
    environment.insert(QStringLiteral("PATH"), QStringLiteral("/usr/bin:/bin"));
    process.setProcessEnvironment(environment);
    process.start(
        QStringLiteral(SLIPWAY_BIN_DIR "/slipwayctl"),
        {QStringLiteral("-o"), QStringLiteral("json"), QStringLiteral("models"), QStringLiteral("list")});
    QVERIFY(process.waitForFinished(60000));
    for (const QJsonValue &model : QJsonDocument::fromJson(process.readAllStandardOutput()).array()) {
        const QString path = model[QStringLiteral("path")].toString();
        QVERIFY2(path.isEmpty() || path.startsWith(QLatin1Char('/')), qPrintable(path));
    }
    QCOMPARE(QDir(folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot),
             QStringList());
}

void TestSlipwayctl::chats()
{
    LoopbackServer server(&respondWell);
    qputenv("OPENAI_API_KEY", "sk-secret");
    const Ended ended = run({"chat", "--base-url", QString::fromStdString(server.url("/v1")), "-m", "Hi",
                             "--system", "be kind", "--temperature", "0", "--max-tokens", "7"});
    QCOMPARE(ended.out, QByteArray("Hello\n"));
    QCOMPARE(ended.status, 0);
    QVERIFY2(ended.err.contains("3 + 2 tokens"), ended.err.constData());
    const auto request = server.requests().at(1);
    const QJsonObject body = objectOf(QByteArray::fromStdString(request.body));
    QCOMPARE(body["model"].toString(), QString("m"));
    QCOMPARE(body["max_tokens"].toInt(), 7);
    QCOMPARE(body["messages"].toArray().at(0).toObject()["content"].toString(), QString("be kind"));
    QCOMPARE(request.headers.at("authorization"), std::string("Bearer sk-secret"));
}

void TestSlipwayctl::chatsFromStandardInput()
{
    LoopbackServer server(&respondWell);
    const Ended ended = run({"chat", "--base-url", QString::fromStdString(server.url())}, "from a pipe\n");
    QCOMPARE(ended.out, QByteArray("Hello\n"));
    QVERIFY(server.requests().at(1).body.find("from a pipe") != std::string::npos);
}

void TestSlipwayctl::chatsAsJson()
{
    LoopbackServer server(&respondWell);
    const Ended ended
        = run({"chat", "--base-url", QString::fromStdString(server.url()), "-m", "Hi", "-o", "json"});
    QCOMPARE(ended.status, 0);
    const QJsonObject json = objectOf(ended.out);
    QCOMPARE(json["answer"].toString(), QString("Hello"));
    QCOMPARE(json["usage"].toObject()["completion_tokens"].toInt(), 2);
    QVERIFY(json["timings"].toObject()["ttft_ms"].isDouble());
    QCOMPARE(ended.err, QByteArray());
}

void TestSlipwayctl::aFailureIsOneLineAndAStatus_data()
{
    QTest::addColumn<QByteArray>("answer");
    QTest::addColumn<QByteArray>("printed");
    QTest::addColumn<QByteArray>("message");
    QTest::newRow("cut stream") << QByteArray::fromStdString(textEvent("Hel")) << QByteArray("Hel\n")
                                << QByteArray("the answer is cut");
    QTest::newRow("error inside the stream")
        << QByteArray::fromStdString(textEvent("Hel")) + "data: {\"error\":{\"message\":\"boom\"}}\n\n"
        << QByteArray("Hel\n") << QByteArray("boom");
    QTest::newRow("no answer of that kind")
        << QByteArray("<html>") << QByteArray() << QByteArray("check that the address");
}

void TestSlipwayctl::aFailureIsOneLineAndAStatus()
{
    QFETCH(QByteArray, answer);
    QFETCH(QByteArray, printed);
    QFETCH(QByteArray, message);
    LoopbackServer server(
        [&](Exchange &exchange) { exchange.respond(200, "text/event-stream", answer.toStdString()); });
    const Ended ended
        = run({"chat", "--base-url", QString::fromStdString(server.url()), "--model", "m", "-m", "Hi"});
    QCOMPARE(ended.status, 1);
    QCOMPARE(ended.out, printed);
    QVERIFY2(ended.err.startsWith("slipwayctl: ") && ended.err.contains(message), ended.err.constData());
    QCOMPARE(ended.err.count('\n'), 1);
}

void TestSlipwayctl::aFailureIsJsonWhereAsked()
{
    const Ended ended = run({"metrics", "--base-url", "http://127.0.0.1:1", "-o", "json"});
    QCOMPARE(ended.status, 1);
    const QJsonObject error = objectOf(ended.out)["error"].toObject();
    QCOMPARE(error["code"].toString(), QString("UNAVAILABLE"));
    QVERIFY(error["message"].toString().contains("127.0.0.1:1"));
    QCOMPARE(ended.err, QByteArray());
}

void TestSlipwayctl::interruptStopsTheStreamAndTheServer()
{
    std::atomic<bool> sawClientLeave = false;
    LoopbackServer server([&](Exchange &exchange) {
        exchange.beginChunked(200, "text/event-stream");
        exchange.writeChunk(textEvent("Hel"));
        sawClientLeave = exchange.waitForClientToLeave();
    });
    QProcess process;
    process.start(SLIPWAY_BIN_DIR "/slipwayctl",
                  {"chat", "--base-url", QString::fromStdString(server.url()), "--model", "m", "-m", "Hi"});
    QByteArray out;
    QTRY_VERIFY_WITH_TIMEOUT((out += process.readAllStandardOutput()).contains("Hel"), 30000);
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    QVERIFY(process.waitForFinished());
    QCOMPARE(process.exitCode(), 130);
    QVERIFY(process.readAllStandardError().contains("stopped"));
    QTRY_VERIFY(sawClientLeave.load());
}

void TestSlipwayctl::aReaderThatLeavesIsNoError()
{
    LoopbackServer server([](Exchange &exchange) {
        exchange.beginChunked(200, "text/event-stream");
        while (exchange.writeChunk(textEvent("line\\n"))) {}
    });
    QProcess process;
    process.start("bash",
                  {"-c",
                   "set -o pipefail; '" SLIPWAY_BIN_DIR "/slipwayctl' chat --model m -m Hi --base-url "
                       + QString::fromStdString(server.url()) + " | head -n 1"});
    QVERIFY(process.waitForFinished(60000));
    QCOMPARE(process.readAllStandardOutput(), QByteArray("line\n"));
    QCOMPARE(process.exitCode(), 0);
    QCOMPARE(process.readAllStandardError(), QByteArray());
}

void TestSlipwayctl::completes()
{
    LoopbackServer server([](Exchange &exchange) {
        exchange.respond(200, "text/event-stream",
                         "data: {\"choices\":[{\"index\":0,\"text\":\" "
                         "sea\",\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n");
    });
    const Ended ended
        = run({"complete", "--base-url", QString::fromStdString(server.url()), "--model", "m", "-p", "The"});
    QCOMPARE(ended.out, QByteArray(" sea\n"));
    QCOMPARE(server.requests().at(0).target, std::string("/v1/completions"));
}

void TestSlipwayctl::showsMetrics()
{
    LoopbackServer server([](Exchange &exchange) {
        exchange.respond(
            200, "text/plain; version=0.0.4",
            "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name=\"m\"} 3\n"
            "# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total{model_name=\"m\"} "
            "42\n# TYPE vllm:request_queue_time_seconds histogram\n"
            "vllm:request_queue_time_seconds_bucket{model_name=\"m\",le=\"0.3\"} 60\n"
            "vllm:request_queue_time_seconds_bucket{model_name=\"m\",le=\"0.5\"} 98\n"
            "vllm:request_queue_time_seconds_bucket{model_name=\"m\",le=\"+Inf\"} 100\n"
            "vllm:request_queue_time_seconds_sum{model_name=\"m\"} 9\n"
            "vllm:request_queue_time_seconds_count{model_name=\"m\"} 100\n");
    });
    const QString url = QString::fromStdString(server.url());
    const Ended text = run({"metrics", "--base-url", url + "/v1"});
    QCOMPARE(text.status, 0);
    QVERIFY2(text.out.contains("requests running         3"), text.out.constData());
    // Half of a bucket's bound would look as if it had been measured.
    QVERIFY2(text.out.contains("p50 <300 ms  p95 484.2 ms  p99 >500 ms  (100 since start)"),
             text.out.constData());
    const QJsonObject json = objectOf(run({"metrics", "--base-url", url, "-o", "json"}).out);
    QCOMPARE(json["requests_running"].toDouble(), 3.0);
    QCOMPARE(json["output_tokens"].toDouble(), 42.0);
    QVERIFY(json["requests_waiting"].isNull()); // missing is not zero
    QCOMPARE(server.requests().at(0).target, std::string("/metrics"));
}

void TestSlipwayctl::listsAndRegistersModels()
{
    const QString file = m_cache.filePath("mine.gguf");
    std::ofstream(file.toStdString()) << "GGUF";
    QCOMPARE(run({"models", "add", file}).status, 0);
    const QJsonArray models = QJsonDocument::fromJson(run({"models", "list", "-o", "json"}).out).array();
    QCOMPARE(models.size(), 4);
    QCOMPARE(models.at(0).toObject()["name"].toString(), QString("smollm2-135m-instruct"));
    QVERIFY(models.at(0).toObject()["path"].isNull());
    const QJsonObject mine = models.at(3).toObject();
    QCOMPARE(mine["path"].toString(), file);
    for (const char *key : {"name", "path", "sha256", "licence", "size", "source"})
        QVERIFY2(mine.contains(key), key);
    QCOMPARE(run({"models", "verify", "mine"}).status, 0);
    std::ofstream(file.toStdString()) << "GGUX";
    QCOMPARE(run({"models", "verify", "mine"}).status, 1);
    QCOMPARE(run({"models", "rm", "mine"}).status, 0);
    QVERIFY(QFile::exists(file));
}

void TestSlipwayctl::refusesToChatWithABaseModel()
{
    QVERIFY(QDir(m_cache.path()).mkpath("models"));
    const QString file = m_cache.filePath("models/gemma-3-270m-q4_k_m.gguf");
    std::ofstream(file.toStdString()) << "GGUF";
    const Ended ended = run({"chat", "--model", "gemma3-270m", "-m", "Hi"});
    QCOMPARE(ended.status, 1);
    QVERIFY2(ended.err.contains("slipwayctl complete"), ended.err.constData());
    QVERIFY(QFile::remove(file));
}

void TestSlipwayctl::serveStartsTheEngineWithTheModelsPath()
{
    // A stand-in beside a copy of slipwayctl shows what it is started with.
    const QString copy = m_cache.filePath("slipwayctl");
    const QString engine = m_cache.filePath("slipway-engine");
    QVERIFY(QFile::copy(SLIPWAY_BIN_DIR "/slipwayctl", copy));
    std::ofstream(engine.toStdString()) << "#!/bin/sh\necho \"$@\"\nexit 7\n";
    QVERIFY(QFile::setPermissions(engine, QFile::ReadOwner | QFile::ExeOwner | QFile::WriteOwner));
    const QString model = m_cache.filePath("other.gguf");
    std::ofstream(model.toStdString()) << "GGUF";
    QProcess process;
    process.start(copy, {"models", "add", model, "--name", "other"});
    QVERIFY(process.waitForFinished());
    process.start(copy, {"serve", "other", "--port", "8001", "--enable-prefix-caching"});
    QVERIFY(process.waitForFinished());
    QCOMPARE(process.exitCode(), 7);
    QCOMPARE(QString(process.readAllStandardOutput()).trimmed(),
             "serve " + model + " --port 8001 --enable-prefix-caching --served-model-name other");
    process.start(copy, {"serve", "nope"});
    QVERIFY(process.waitForFinished());
    QCOMPARE(process.exitCode(), 1);
    QVERIFY(process.readAllStandardError().contains("no model named 'nope'"));
}

QTEST_GUILESS_MAIN(TestSlipwayctl)
#include "tst_slipwayctl.moc"
