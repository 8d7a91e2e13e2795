#include "cluster/observe/metric_poller.h"

#include "recorded.h"
#include <QTest>
#include <map>

using namespace cluster;

namespace {

SampleTime at(int seconds)
{
    return SampleTime{std::chrono::seconds(1796000000 + seconds)};
}

/// Answers by URL and remembers what was asked for.
struct FakeServer
{
    std::map<std::string, Result<FetchedPage>> pages;
    std::vector<std::string> asked;

    FetchPage fetch()
    {
        return [this](const std::string &url, std::chrono::steady_clock::time_point) -> Result<FetchedPage> {
            asked.push_back(url);
            const auto found = pages.find(url);
            if (found == pages.end())
                return FetchedPage{404, {}, "{\"detail\":\"Not Found\"}"};
            return found->second;
        };
    }
};

const std::string url = "http://127.0.0.1:8000/metrics";

MetricPoller pollerOf(FakeServer &server)
{
    MetricPollerOptions options;
    options.url = url;
    return {options, server.fetch()};
}

} // namespace

class TestMetricPoller : public QObject
{
    Q_OBJECT
private slots:
    void aRealPageBecomesASample();
    void redirectsAreFollowedOnTheSameServer_data();
    void redirectsAreFollowedOnTheSameServer();
    void failuresNameUrlAndReasonAndLeaveAGap_data();
    void failuresNameUrlAndReasonAndLeaveAGap();
    void badLinesDoNotSpoilTheScrape();
    void aDeadWorkerIsFoundOverPolls();
    void theDeadlineCoversAllRedirects();
};

void TestMetricPoller::aRealPageBecomesASample()
{
    FakeServer server;
    server.pages[url]
        = FetchedPage{200, {}, tests::recordedBody("observed-vllm/v0.32.0/metrics-during-load.http")};
    MetricPoller poller = pollerOf(server);
    auto scrape = poller.poll(at(0));
    QVERIFY(scrape);
    QVERIFY(scrape->problems.empty());
    QCOMPARE(scrape->sample.running.value_or(0), 1.0);
    server.pages[url]
        = FetchedPage{200, {}, tests::recordedBody("observed-vllm/v0.32.0/metrics-after-load.http")};
    scrape = poller.poll(at(2));
    const auto &tokens = scrape->values[static_cast<std::size_t>(ChartMetric::OutputTokensPerSecond)];
    QVERIFY(tokens && tokens->value > 0);
    QVERIFY(scrape->values[static_cast<std::size_t>(ChartMetric::TtftP95)]);
    QCOMPARE(poller.series().series(ChartMetric::RequestsRunning).points().size(), 2u);
}

void TestMetricPoller::redirectsAreFollowedOnTheSameServer_data()
{
    QTest::addColumn<QString>("location");
    QTest::addColumn<QString>("target");
    QTest::newRow("absolute") << "http://127.0.0.1:8000/metrics/"
                              << "http://127.0.0.1:8000/metrics/";
    QTest::newRow("path") << "/metrics/"
                          << "http://127.0.0.1:8000/metrics/";
    QTest::newRow("relative") << "metrics/?a=b"
                              << "http://127.0.0.1:8000/metrics/?a=b";
    QTest::newRow("without scheme") << "//127.0.0.1:8000/m"
                                    << "http://127.0.0.1:8000/m";
}

void TestMetricPoller::redirectsAreFollowedOnTheSameServer()
{
    QFETCH(QString, location);
    QFETCH(QString, target);
    FakeServer server;
    server.pages[url] = FetchedPage{307, location.toStdString(), ""};
    server.pages[target.toStdString()] = FetchedPage{200, {}, "vllm:num_requests_running 4\n"};
    const auto scrape = pollerOf(server).poll(at(0));
    QVERIFY(scrape);
    QCOMPARE(scrape->sample.running.value_or(0), 4.0);
    QCOMPARE(server.asked.size(), 2u);
}

void TestMetricPoller::failuresNameUrlAndReasonAndLeaveAGap_data()
{
    QTest::addColumn<int>("status"); // 0: the transport failed
    QTest::addColumn<QString>("text"); // body or location
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("reason");
    const auto row = [](const char *name, int status, const char *text, ErrorCode code, const char *reason) {
        QTest::newRow(name) << status << text << static_cast<int>(code) << reason;
    };
    row("refused", 0, "", ErrorCode::Unavailable, "connection refused");
    row("no key", 401, "", ErrorCode::Unauthenticated, "wants a key");
    row("wrong key", 403, "", ErrorCode::PermissionDenied, "may not");
    row("not there", 404, "", ErrorCode::NotFound, "no metrics page");
    row("switched off", 501, "", ErrorCode::Unimplemented, "--metrics");
    row("starting", 503, "", ErrorCode::Unavailable, "not ready");
    row("redirect to itself", 307, "/metrics", ErrorCode::FailedPrecondition, "redirects");
    row("redirect elsewhere", 307, "http://10.0.0.1/metrics", ErrorCode::FailedPrecondition,
        "another server");
    row("redirect to another port", 307, "http://127.0.0.1:8001/metrics", ErrorCode::FailedPrecondition,
        "another server");
    row("HTML", 200, "<html>login</html>", ErrorCode::InvalidArgument, "line 1");
    row("empty", 200, "", ErrorCode::InvalidArgument, "empty");
}

void TestMetricPoller::failuresNameUrlAndReasonAndLeaveAGap()
{
    QFETCH(int, status);
    QFETCH(QString, text);
    QFETCH(int, code);
    QFETCH(QString, reason);
    FakeServer server;
    server.pages[url] = FetchedPage{200, {}, "vllm:num_requests_running 1\n"};
    MetricPoller poller = pollerOf(server);
    QVERIFY(poller.poll(at(0)));
    server.pages[url] = FetchedPage{status, text.toStdString(), text.toStdString()};
    if (status == 0)
        server.pages[url] = fail(ErrorCode::Unavailable, url + ": connection refused");
    const auto scrape = poller.poll(at(2));
    QVERIFY(!scrape);
    QCOMPARE(static_cast<int>(scrape.error().code), code);
    const QString message = QString::fromStdString(scrape.error().message);
    QVERIFY2(message.contains(reason) && message.contains("127.0.0.1:8000/metrics"), qPrintable(message));
    QVERIFY(poller.series().series(ChartMetric::RequestsRunning).points().back().isGap());
    server.pages[url] = FetchedPage{200, {}, "vllm:num_requests_running 1\n"};
    QVERIFY(poller.poll(at(4)));
}

void TestMetricPoller::badLinesDoNotSpoilTheScrape()
{
    FakeServer server;
    server.pages[url]
        = FetchedPage{200, {}, "garbage\nvllm:num_requests_running 1\nvllm:num_requests_waiting{ 3\n"};
    const auto scrape = pollerOf(server).poll(at(0));
    QVERIFY(scrape);
    QCOMPARE(scrape->problems.size(), 2u);
    QCOMPARE(scrape->sample.running.value_or(0), 1.0);
    QVERIFY(!scrape->sample.waiting);
}

void TestMetricPoller::aDeadWorkerIsFoundOverPolls()
{
    FakeServer server;
    server.pages[url] = FetchedPage{200,
                                    {},
                                    "vllm:num_requests_running 1\nvllm:num_requests_waiting 2\n"
                                    "vllm:generation_tokens_total 50\n"};
    MetricPoller poller = pollerOf(server);
    Liveness last = Liveness::Unknown;
    for (int i = 0; i < 10; ++i)
        last = poller.poll(at(2 * i))->liveness;
    QCOMPARE(static_cast<int>(last), static_cast<int>(Liveness::HalfAlive));
    QVERIFY(!poller.halfAlive().explanation().empty());
}

void TestMetricPoller::theDeadlineCoversAllRedirects()
{
    std::vector<std::chrono::steady_clock::time_point> deadlines;
    MetricPollerOptions options;
    options.url = url;
    MetricPoller poller(
        options,
        [&](const std::string &, std::chrono::steady_clock::time_point deadline) -> Result<FetchedPage> {
            deadlines.push_back(deadline);
            return FetchedPage{307, "/again", ""};
        });
    QVERIFY(!poller.poll(at(0)));
    QCOMPARE(deadlines.size(), 4u);
    QCOMPARE(deadlines.front(), deadlines.back());
}

QTEST_APPLESS_MAIN(TestMetricPoller)
#include "tst_metric_poller.moc"
