// The whole program: command line to exit code, a real model, workers that are killed and stopped.
#include "gguf_writer.h"
#include "process_under_test.h"

#include <QFile>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTemporaryDir>
#include <csignal>

namespace {

const QString program = QStringLiteral(SLIPWAY_BIN_DIR "/slipway-engine");
const QString model = QStringLiteral(SLIPWAY_MODELS_DIR "/SmolLM2-135M-Instruct.Q4_1.gguf");

/// A blocking HTTP exchange on a connection of its own; the whole answer, or what came before the connection
/// ended.
class Exchange
{
public:
    Exchange(quint16 port, const QByteArray &path, const QByteArray &body)
    {
        m_socket.connectToHost(QStringLiteral("127.0.0.1"), port);
        m_socket.waitForConnected();
        m_socket.write((body.isEmpty() ? "GET " : "POST ") + path
                       + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "
                         "application/json\r\nContent-Length: "
                       + QByteArray::number(body.size()) + "\r\n\r\n" + body);
    }

    bool waitFor(const QByteArray &part, int milliseconds = 60'000)
    {
        QElapsedTimer timer;
        timer.start();
        while (!answer.contains(part) && timer.elapsed() < milliseconds) {
            const bool more = m_socket.waitForReadyRead(200);
            answer += m_socket.readAll();
            if (!more && m_socket.state() != QAbstractSocket::ConnectedState)
                break;
        }
        return answer.contains(part);
    }

    QByteArray whole()
    {
        QElapsedTimer timer;
        timer.start();
        while (m_socket.state() == QAbstractSocket::ConnectedState && timer.elapsed() < 60'000) {
            m_socket.waitForReadyRead(200);
            answer += m_socket.readAll();
        }
        answer += m_socket.readAll();
        return answer;
    }

    QByteArray answer;

private:
    QTcpSocket m_socket;
};

QByteArray completion(int tokens, bool stream)
{
    return R"({"model":"m","prompt":"Once upon a time","ignore_eos":true,"temperature":0,"max_tokens":)"
        + QByteArray::number(tokens) + (stream ? R"(,"stream":true})" : "}");
}

/// `serve` with a small context on one thread.
QStringList serveArguments(const QStringList &more = {})
{
    return QStringList{QStringLiteral("serve"),
                       model,
                       QStringLiteral("--port"),
                       QStringLiteral("0"),
                       QStringLiteral("--threads"),
                       QStringLiteral("1"),
                       QStringLiteral("--max-model-len"),
                       QStringLiteral("1024"),
                       QStringLiteral("--max-num-seqs"),
                       QStringLiteral("4"),
                       QStringLiteral("--served-model-name"),
                       QStringLiteral("m")}
    + more;
}

quint16 portOf(ProcessUnderTest &server)
{
    return static_cast<quint16>(
        server.waitForOutput(QStringLiteral("Listening on http://127.0.0.1:(\\d+)")).captured(1).toUInt());
}

/// A worker whose heartbeats fail fast.
class Worker : public ProcessUnderTest
{
public:
    explicit Worker(const QString &tokenFile)
        : ProcessUnderTest(program,
                           {QStringLiteral("worker"), QStringLiteral("--listen"),
                            QStringLiteral("127.0.0.1:0"), QStringLiteral("--threads"), QStringLiteral("1"),
                            QStringLiteral("--token-file"), tokenFile}),
          address(waitForOutput(QStringLiteral("listens on (127.0.0.1:\\d+)")).captured(1))
    {
    }

    QString address;
};

QString written(const QTemporaryDir &directory, const char *name, const QByteArray &content)
{
    QFile file(directory.filePath(QLatin1String(name)));
    if (file.open(QIODevice::WriteOnly))
        file.write(content);
    return file.fileName();
}

} // namespace

class ServeTest : public QObject
{
    Q_OBJECT

private slots:
    void failuresHaveTheirExitCodeAndLine_data();
    void failuresHaveTheirExitCodeAndLine();
    void aPortInUseIsOneLine();
    void aModelAnswersAndTheServerStopsCleanly();
    void aKilledRunnerEndsTheStreamWithAnErrorAndIsReplaced();
    void aGroupAnswersWithAllOrPartOfTheLayersOnWorkers_data();
    void aGroupAnswersWithAllOrPartOfTheLayersOnWorkers();
    void aLostWorkerEndsTheRequestAndTheGroupFormsAgain_data();
    void aLostWorkerEndsTheRequestAndTheGroupFormsAgain();
    void aGroupThatCanNotFormEndsWithItsCode_data();
    void aGroupThatCanNotFormEndsWithItsCode();

private:
    QTemporaryDir m_directory;
};

void ServeTest::failuresHaveTheirExitCodeAndLine_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("line");
    const auto words = [](const char *line) { return QString::fromLatin1(line).split(QLatin1Char(' ')); };
    const QString cut = written(m_directory, "cut.gguf", [] {
        GgufWriter writer = GgufWriter().model();
        writer.missingBytes = 100;
        return QByteArray::fromStdString(writer.file());
    }());
    // A header without fault for a model that llama.cpp can't make anything of: found in the child process.
    const QString odd
        = written(m_directory, "odd.gguf", QByteArray::fromStdString(GgufWriter().model().file()));
    QTest::newRow("no command") << QStringList() << 2 << "error: no command";
    QTest::newRow("unknown command") << words("sreve") << 2 << "unknown command 'sreve'";
    QTest::newRow("unknown flag") << words("serve m --max-model-length 5") << 2
                                  << "did you mean --max-model-len?";
    QTest::newRow("no such model") << words("serve /no/such.gguf") << 3
                                   << "there is no model file '/no/such.gguf'";
    QTest::newRow("a name of the store") << words("serve smollm2-135m-instruct") << 3
                                         << "'slipwayctl serve smollm2-135m-instruct' the name of a model";
    QTest::newRow("truncated model") << QStringList{QStringLiteral("serve"), cut} << 3
                                     << "the file is cut off";
    QTest::newRow("model that does not load")
        << QStringList{QStringLiteral("serve"), odd, QStringLiteral("--port"), QStringLiteral("0")} << 3
        << "odd.gguf";
    QTest::newRow("foreign address") << (QStringList{QStringLiteral("serve"), model}
                                         + words("--host 192.0.2.1 --api-key x"))
                                     << 4 << "cannot listen on 192.0.2.1:8000";
    QTest::newRow("heads")
        << QStringList{QStringLiteral("serve"), model, QStringLiteral("-tp"), QStringLiteral("2")} << 2
        << "Total number of attention heads (9) must be divisible by tensor parallel size (2).";
    QTest::newRow("parser") << words("serve m --reasoning-parser nope") << 2
                            << "invalid reasoning parser: nope";
    QTest::newRow("worker, open without token")
        << words("worker --listen 0.0.0.0:0") << 2 << "give --token-file";
    QTest::newRow("worker, foreign address")
        << words("worker --listen 192.0.2.1:9 --token-file /etc/hostname") << 4
        << "cannot listen on 192.0.2.1:9";
}

void ServeTest::failuresHaveTheirExitCodeAndLine()
{
    QFETCH(QStringList, arguments);
    QFETCH(int, code);
    QFETCH(QString, line);
    if (arguments.contains(model) && !QFile::exists(model))
        QSKIP("the chat model is not in SLIPWAY_MODELS_DIR");
    ProcessUnderTest server(program, arguments);
    QVERIFY(server.waitForEnd());
    QVERIFY2(server.output().contains(line), qPrintable(server.output()));
    QCOMPARE(server.exitCode(), code);
}

void ServeTest::aPortInUseIsOneLine()
{
    if (!QFile::exists(model))
        QSKIP("the chat model is not in SLIPWAY_MODELS_DIR");
    QTcpServer taken;
    QVERIFY(taken.listen(QHostAddress::LocalHost));
    ProcessUnderTest server(
        program,
        {QStringLiteral("serve"), model, QStringLiteral("--port"), QString::number(taken.serverPort())});
    QVERIFY(server.waitForEnd());
    QCOMPARE(server.exitCode(), 4);
    QVERIFY2(server.output().contains(QStringLiteral("the port is in use; choose another one with --port")),
             qPrintable(server.output()));
}

void ServeTest::aModelAnswersAndTheServerStopsCleanly()
{
    if (!QFile::exists(model))
        QSKIP("the chat model is not in SLIPWAY_MODELS_DIR");
    ProcessUnderTest server(program, serveArguments());
    QVERIFY2(server.waitForOutput(QStringLiteral("KV cache size: [\\d,]+ tokens")).hasMatch(),
             qPrintable(server.output()));
    QVERIFY(server.waitForOutput(QStringLiteral("Maximum concurrency for 1,024 tokens per request: "))
                .hasMatch());
    const quint16 port = portOf(server);
    QVERIFY2(port != 0, qPrintable(server.output()));
    const QByteArray answer = Exchange(port, "/v1/completions", completion(8, false)).whole();
    QVERIFY2(answer.startsWith("HTTP/1.1 200") && answer.contains("\"completion_tokens\":8"),
             answer.constData());
    ::kill(static_cast<pid_t>(server.pid()), SIGTERM);
    QVERIFY(server.waitForEnd());
    QCOMPARE(server.exitCode(), 0);
}

void ServeTest::aKilledRunnerEndsTheStreamWithAnErrorAndIsReplaced()
{
    if (!QFile::exists(model))
        QSKIP("the chat model is not in SLIPWAY_MODELS_DIR");
    ProcessUnderTest server(program, serveArguments());
    const quint16 port = portOf(server);
    QVERIFY2(port != 0, qPrintable(server.output()));
    Exchange stream(port, "/v1/completions", completion(900, true));
    QVERIFY2(stream.waitFor("data: {"), stream.answer.constData());
    QFile children(QStringLiteral("/proc/%1/task/%1/children").arg(server.pid()));
    QVERIFY(children.open(QIODevice::ReadOnly));
    const int runner = children.readAll().trimmed().toInt();
    QVERIFY(runner > 0);
    QCOMPARE(::kill(runner, SIGKILL), 0);
    const QByteArray all = stream.whole();
    QVERIFY2(all.contains("signal 9 (Killed)") && all.contains("the request was not finished"),
             all.right(500).constData());
    QVERIFY2(!all.contains("\"finish_reason\":\"stop\"") && !all.contains("\"finish_reason\":\"length\""),
             all.right(500).constData());
    QVERIFY(server.waitForOutput(QStringLiteral("the runner is ready again")).hasMatch());
    const QByteArray again = Exchange(port, "/v1/completions", completion(4, false)).whole();
    QVERIFY2(again.startsWith("HTTP/1.1 200"), again.constData());
}

void ServeTest::aGroupAnswersWithAllOrPartOfTheLayersOnWorkers_data()
{
    QTest::addColumn<int>("stages");
    QTest::newRow("all layers on two workers") << 2;
    QTest::newRow("the first stage here") << 3;
}

void ServeTest::aGroupAnswersWithAllOrPartOfTheLayersOnWorkers()
{
    QFETCH(int, stages);
    if (!QFile::exists(model))
        QSKIP("the chat model is not in SLIPWAY_MODELS_DIR");
    const QString token = written(m_directory, "token", "group secret\n");
    Worker first(token);
    Worker second(token);
    ProcessUnderTest server(
        program,
        serveArguments({QStringLiteral("-pp"), QString::number(stages), QStringLiteral("--worker-token-file"),
                        token, QStringLiteral("--rpc-worker"), first.address, second.address}));
    const quint16 port = portOf(server);
    QVERIFY2(port != 0, qPrintable(server.output()));
    const QByteArray answer = Exchange(port, "/v1/completions", completion(8, false)).whole();
    QVERIFY2(answer.startsWith("HTTP/1.1 200") && answer.contains("\"completion_tokens\":8"),
             answer.constData());
    ::kill(static_cast<pid_t>(server.pid()), SIGTERM);
    QVERIFY(server.waitForEnd());
    QCOMPARE(server.exitCode(), 0);
    QVERIFY(first.waitForOutput(QStringLiteral("ready for the next one")).hasMatch());
}

void ServeTest::aLostWorkerEndsTheRequestAndTheGroupFormsAgain_data()
{
    QTest::addColumn<int>("signal");
    QTest::addColumn<QString>("cause");
    QTest::newRow("killed") << SIGKILL << "closed the";
    QTest::newRow("stopped") << SIGSTOP << "did not answer for 5.0 s";
}

void ServeTest::aLostWorkerEndsTheRequestAndTheGroupFormsAgain()
{
    QFETCH(int, signal);
    QFETCH(QString, cause);
    if (!QFile::exists(model))
        QSKIP("the chat model is not in SLIPWAY_MODELS_DIR");
    const QString token = written(m_directory, "token", "group secret\n");
    Worker stays(token);
    auto lost = std::make_unique<Worker>(token);
    const QString address = lost->address;
    ProcessUnderTest server(program,
                            serveArguments({QStringLiteral("--worker-token-file"), token,
                                            QStringLiteral("--rpc-worker"), stays.address, address}));
    const quint16 port = portOf(server);
    QVERIFY2(port != 0, qPrintable(server.output()));
    Exchange stream(port, "/v1/completions", completion(900, true));
    QVERIFY2(stream.waitFor("data: {"), stream.answer.constData());
    ::kill(static_cast<pid_t>(lost->pid()), signal);
    const QByteArray all = stream.whole();
    QVERIFY2(all.contains("worker " + address.toUtf8()) && all.contains(cause.toUtf8())
                 && all.contains("the request was not finished"),
             all.right(600).constData());
    QVERIFY(!all.contains("\"finish_reason\":\"stop\"") && !all.contains("\"finish_reason\":\"length\""));
    const QByteArray meanwhile = Exchange(port, "/v1/completions", completion(4, false)).whole();
    QVERIFY2(meanwhile.startsWith("HTTP/1.1 503"), meanwhile.constData());

    // The worker is back on its address: the group forms by itself.
    if (signal == SIGSTOP) {
        ::kill(static_cast<pid_t>(lost->pid()), SIGCONT);
    } else {
        lost.reset();
        lost = std::make_unique<Worker>(token);
        if (lost->address != address) { // another port was given: this test can't go on
            ProcessUnderTest again(program,
                                   {QStringLiteral("worker"), QStringLiteral("--listen"), address,
                                    QStringLiteral("--threads"), QStringLiteral("1"),
                                    QStringLiteral("--token-file"), token});
            QVERIFY2(server.waitForOutput(QStringLiteral("the runner is ready again")).hasMatch(),
                     qPrintable(server.output()));
            return;
        }
    }
    QVERIFY2(server.waitForOutput(QStringLiteral("the runner is ready again")).hasMatch(),
             qPrintable(server.output()));
    const QByteArray again = Exchange(port, "/v1/completions", completion(4, false)).whole();
    QVERIFY2(again.startsWith("HTTP/1.1 200"), again.constData());
}

void ServeTest::aGroupThatCanNotFormEndsWithItsCode_data()
{
    QTest::addColumn<QByteArray>("token");
    QTest::addColumn<bool>("listens");
    QTest::addColumn<QString>("line");
    QTest::newRow("wrong token") << QByteArray("guess") << true << "refused this leader: the token is wrong";
    QTest::newRow("nobody listens") << QByteArray("group secret") << false
                                    << "does not listen (Connection refused); waited 1.0 s";
}

void ServeTest::aGroupThatCanNotFormEndsWithItsCode()
{
    QFETCH(QByteArray, token);
    QFETCH(bool, listens);
    QFETCH(QString, line);
    if (!QFile::exists(model))
        QSKIP("the chat model is not in SLIPWAY_MODELS_DIR");
    auto worker = std::make_unique<Worker>(written(m_directory, "token", "group secret\n"));
    const QString address = worker->address;
    if (!listens)
        worker.reset();
    ProcessUnderTest server(
        program,
        serveArguments({QStringLiteral("--worker-token-file"), written(m_directory, "other", token),
                        QStringLiteral("--worker-timeout"), QStringLiteral("1"),
                        QStringLiteral("--rpc-worker"), address}));
    QVERIFY(server.waitForEnd());
    QCOMPARE(server.exitCode(), 6);
    QVERIFY2(server.output().contains(QStringLiteral("worker ") + address + QLatin1Char(' ') + line),
             qPrintable(server.output()));
}

QTEST_GUILESS_MAIN(ServeTest)
#include "tst_serve.moc"
