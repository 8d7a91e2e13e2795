#include "engine/metrics/server_metrics.h"

#include "page_shape.h"
#include "tests/support/loopback_server.h"
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <arpa/inet.h>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <sys/socket.h>
#include <unistd.h>

using namespace engine;

namespace {

const QString programs = QStringLiteral(SLIPWAY_PROMETHEUS_DIR);
const QString promtool = programs + "/promtool";
const QString prometheus = programs + "/prometheus";
const QString engineProgram = QStringLiteral(SLIPWAY_BIN_DIR "/slipway-engine");
const QString chatModel = QStringLiteral(SLIPWAY_MODELS_DIR "/SmolLM2-135M-Instruct.Q4_1.gguf");

sockaddr_in loopback(int port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/// A port that was free a moment ago.
int freePort()
{
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (bind(socket, reinterpret_cast<sockaddr *>(&address), size) != 0)
        return 0;
    getsockname(socket, reinterpret_cast<sockaddr *>(&address), &size);
    close(socket);
    return ntohs(address.sin_port);
}

/// The whole answer to one HTTP/1.1 request; empty if nobody listens.
std::string exchange(int port, const std::string &head, const std::string &body = {})
{
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(port);
    std::string answer;
    if (connect(socket, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0) {
        const std::string request = head
            + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n"
            + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
        char bytes[8192];
        if (send(socket, request.data(), request.size(), MSG_NOSIGNAL)
            == static_cast<ssize_t>(request.size())) {
            for (ssize_t got = 0; (got = recv(socket, bytes, sizeof bytes, 0)) > 0;)
                answer.append(bytes, static_cast<std::size_t>(got));
        }
    }
    close(socket);
    return answer;
}

struct Outcome
{
    int code = -1;
    QString output;
    QString errors;
};

Outcome run(const QString &program, const QStringList &arguments, const QByteArray &input = {})
{
    QProcess process;
    process.start(program, arguments);
    process.write(input);
    process.closeWriteChannel();
    if (!process.waitForFinished(60000))
        return {};
    return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
}

/// A child that is ended, by its id, with the test.
class Child
{
public:
    explicit Child(const QString &log)
    {
        m_process.setProcessChannelMode(QProcess::MergedChannels);
        m_process.setStandardOutputFile(log);
    }
    ~Child()
    {
        if (m_process.state() == QProcess::NotRunning)
            return;
        m_process.terminate();
        if (!m_process.waitForFinished(10000)) {
            m_process.kill();
            m_process.waitForFinished();
        }
    }
    QProcess *operator->() { return &m_process; }

private:
    QProcess m_process;
};

void serveSomething(ServerMetrics &metrics)
{
    RunnerStats stats;
    stats.running = 2;
    stats.stepTokens = {20, 1, 1};
    metrics.runnerStats(stats);
    FinishedRequest request;
    request.promptTokens = 30;
    request.generationTokens = 5;
    request.arrival = Seconds(100);
    request.times = {Seconds(100), Seconds(101), Seconds(103), Seconds(107)};
    for (int i = 0; i < 10; ++i) {
        metrics.firstToken(Seconds(0.3), 30, 10);
        metrics.finished(request);
    }
    metrics.http({"POST", "/v1/completions", 200, Seconds(0.7), 120, 900});
}

std::string pageOf(ApiDialect dialect)
{
    ServerMetrics metrics({"smol \"quoted\" \\ name", dialect, 8192, 46592, true});
    serveSomething(metrics);
    return metrics.render();
}

/// The families that promtool has something to say about.
QSet<QString> complaints(const std::string &page)
{
    const Outcome outcome = run(promtool, {"check", "metrics"}, QByteArray::fromStdString(page));
    QSet<QString> lines;
    for (const QString &line : outcome.errors.split('\n', Qt::SkipEmptyParts))
        lines.insert(line);
    return lines;
}

} // namespace

class TestPromtool : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase();
    void promtoolReadsThePage_data();
    void promtoolReadsThePage();
    void promtoolComplainsOfNothingThatItDoesNotComplainOfInVllm();
    void prometheusScrapesThePageWithoutAWarning_data();
    void prometheusScrapesThePageWithoutAWarning();

private:
    QString query(const QString &expression) const;
    QString logText() const;
    bool startPrometheus(int target);
    bool startEngine(int port);
    void stop();

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<Child> m_prometheus;
    std::unique_ptr<Child> m_engine;
    int m_port = 0;
};

void TestPromtool::initTestCase()
{
    if (programs.isEmpty() || !QFile::exists(promtool) || !QFile::exists(prometheus)) {
        std::puts("skipped: no prometheus and promtool in SLIPWAY_PROMETHEUS_DIR");
        std::exit(77);
    }
}

void TestPromtool::promtoolReadsThePage_data()
{
    QTest::addColumn<int>("dialect");
    QTest::newRow("newest") << static_cast<int>(ApiDialect::Newest);
    QTest::newRow("0.8.5") << static_cast<int>(ApiDialect::V085);
}

void TestPromtool::promtoolReadsThePage()
{
    QFETCH(int, dialect);
    const std::string page = pageOf(static_cast<ApiDialect>(dialect));
    const Outcome outcome = run(promtool, {"check", "metrics"}, QByteArray::fromStdString(page));
    QVERIFY2(outcome.code == 0 || outcome.code == 3,
             qPrintable(outcome.errors)); // 3: complaints of names only
    QVERIFY2(!outcome.errors.contains("error while"), qPrintable(outcome.errors));
    const Outcome broken
        = run(promtool, {"check", "metrics"}, QByteArray::fromStdString(page + "vllm:broken{ 1\n"));
    QVERIFY(broken.code != 0 && broken.code != 3); // so the check can fail
}

void TestPromtool::promtoolComplainsOfNothingThatItDoesNotComplainOfInVllm()
{
    const QSet<QString> theirs = complaints(tests::recordedPage("v0.32.0/metrics-after-load.http"));
    const QSet<QString> ours = complaints(pageOf(ApiDialect::Newest));
    QVERIFY(!theirs.isEmpty()); // vLLM's names with colons and without units
    const QSet<QString> own = ours - theirs;
    QVERIFY2(own.isEmpty(), qPrintable(QStringList(own.values()).join('\n')));
}

QString TestPromtool::query(const QString &expression) const
{
    const Outcome outcome
        = run(promtool, {"query", "instant", "http://127.0.0.1:" + QString::number(m_port), expression});
    return outcome.output + outcome.errors;
}

QString TestPromtool::logText() const
{
    QFile file(m_folder->filePath("prometheus.log"));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

bool TestPromtool::startPrometheus(int target)
{
    QFile config(m_folder->filePath("prometheus.yml"));
    if (!config.open(QIODevice::WriteOnly))
        return false;
    config.write("global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
                 "scrape_configs:\n- job_name: engine\n  static_configs: [{targets: ['127.0.0.1:"
                 + QByteArray::number(target) + "']}]\n");
    config.close();
    m_port = freePort();
    m_prometheus = std::make_unique<Child>(m_folder->filePath("prometheus.log"));
    (*m_prometheus)
        ->start(prometheus,
                {"--config.file=" + config.fileName(), "--storage.tsdb.path=" + m_folder->filePath("tsdb"),
                 "--web.listen-address=127.0.0.1:" + QString::number(m_port)});
    return (*m_prometheus)->waitForStarted();
}

bool TestPromtool::startEngine(int port)
{
    m_engine = std::make_unique<Child>(m_folder->filePath("engine.log"));
    (*m_engine)->start(engineProgram,
                       {"serve", chatModel, "--host", "127.0.0.1", "--port", QString::number(port),
                        "--max-model-len", "512", "--max-num-seqs", "2"});
    const auto isReady = [&] { return exchange(port, "GET /health").find(" 200 ") != std::string::npos; };
    if (!QTest::qWaitFor(isReady, 60000))
        return false;
    const std::string body = R"({"prompt": "The capital of France is", "max_tokens": 4, "temperature": 0})";
    return exchange(port, "POST /v1/completions", body).find(" 200 ") != std::string::npos;
}

void TestPromtool::stop()
{
    m_prometheus.reset();
    m_engine.reset();
}

void TestPromtool::prometheusScrapesThePageWithoutAWarning_data()
{
    QTest::addColumn<bool>("isEngine");
    QTest::addColumn<int>("dialect");
    QTest::newRow("page, newest") << false << static_cast<int>(ApiDialect::Newest);
    QTest::newRow("page, 0.8.5") << false << static_cast<int>(ApiDialect::V085);
    if (QFile::exists(engineProgram) && QFile::exists(chatModel))
        QTest::newRow("running engine") << true << static_cast<int>(ApiDialect::Newest);
}

void TestPromtool::prometheusScrapesThePageWithoutAWarning()
{
    QFETCH(bool, isEngine);
    QFETCH(int, dialect);
    m_folder = std::make_unique<QTemporaryDir>();
    std::unique_ptr<tests::LoopbackServer> server;
    std::atomic<int> scrapes = 0;
    int target = 0;
    if (isEngine) {
        target = freePort();
        QVERIFY(startEngine(target));
    } else {
        auto metrics = std::make_shared<ServerMetrics>(
            ServerMetricsOptions{"smollm2", static_cast<ApiDialect>(dialect), 8192, 46592, true});
        auto mutex = std::make_shared<std::mutex>();
        server
            = std::make_unique<tests::LoopbackServer>([metrics, mutex, &scrapes](tests::Exchange &exchange) {
                  const std::lock_guard lock(*mutex);
                  serveSomething(*metrics);
                  exchange.respond(200, "text/plain; version=0.0.4; charset=utf-8", metrics->render());
                  ++scrapes;
              });
        target = server->port();
    }
    QVERIFY(startPrometheus(target));
    QTRY_VERIFY_WITH_TIMEOUT(query("up").contains("=> 1 "), 60000);
    QTRY_VERIFY_WITH_TIMEOUT(query("count_over_time(up[1m]) >= 3").contains("=> "), 30000);
    const QString running = query("vllm:num_requests_running");
    QVERIFY2(running.contains(isEngine ? "=> 0 " : "=> 2 "), qPrintable(running));
    const QString quantile
        = query("histogram_quantile(0.95, sum by (le) (vllm:time_to_first_token_seconds_bucket))");
    QVERIFY2(quantile.contains("=> ") && !quantile.contains("NaN"), qPrintable(quantile));
    if (!isEngine)
        QVERIFY2(quantile.contains("=> 0.48"),
                 qPrintable(quantile)); // 0.3 s lies in the bucket from 0.25 to 0.5
    QVERIFY(query("resets(vllm:prompt_tokens_total[1m])").contains("=> 0 "));
    const QString dropped = query("scrape_samples_scraped - scrape_samples_post_metric_relabeling");
    QVERIFY2(dropped.contains("=> 0 "), qPrintable(dropped));
    const QString log = logText();
    QVERIFY(log.contains("level=info"));
    QVERIFY2(!log.contains("level=warn") && !log.contains("level=error"), qPrintable(log));
    stop();
}

QTEST_GUILESS_MAIN(TestPromtool)
#include "tst_promtool.moc"
