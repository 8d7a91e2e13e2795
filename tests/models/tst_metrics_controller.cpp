#include "models/bridge/job_runner.h"
#include "models/metrics/metrics_controller.h"
#include "models/metrics/series_buffer.h"
#include "tests/support/loopback_server.h"

#include <QFile>
#include <QFileInfo>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include <atomic>
#include <cmath>
#include <mutex>

using models::MetricsState;

namespace {
constexpr qint64 start = 1700000000000; // ms

std::string page(double outputTokens, double running, bool hasKv = true)
{
    const auto line = [](const char *name, const char *type, double value) {
        return QStringLiteral("# TYPE %1 %2\n%1{engine=\"0\",model_name=\"tiny\"} %3\n")
            .arg(QLatin1String(name), QLatin1String(type), QString::number(value, 'f', 3))
            .toStdString();
    };
    std::string text = line("vllm:num_requests_running", "gauge", running)
        + line("vllm:num_requests_waiting", "gauge", 0)
        + line("vllm:generation_tokens_total", "counter", outputTokens);
    return hasKv ? text + line("vllm:kv_cache_usage_perc", "gauge", 0.5) : text;
}

// The body of a recorded exchange: it follows the answer's header.
std::string recordedBody(const QString &name)
{
    QFile file(QStringLiteral(SLIPWAY_TEST_DATA "/") + name);
    if (!file.open(QIODevice::ReadOnly))
        qFatal("%s is missing", qPrintable(name));
    QByteArray text = file.readAll();
    text.replace("\r\n", "\n");
    const qsizetype answer = text.indexOf("HTTP/1.1 200");
    return text.mid(text.indexOf("\n\n", answer) + 2).toStdString();
}

// A server whose page is set by the test, and a clock that moves two seconds with each scrape.
class Watched
{
public:
    Watched()
        : server([this](tests::Exchange &exchange) {
              if (isSilent) {
                  exchange.waitForClientToLeave();
                  return;
              }
              std::string body;
              {
                  const std::lock_guard lock(mutex);
                  body = pages.size() > 1 ? pages.front() : pages.back();
                  if (pages.size() > 1)
                      pages.erase(pages.begin());
              }
              nowMs += 2000;
              exchange.respond(status, "text/plain", body);
          })
    {
    }

    [[nodiscard]] models::MetricsOptions options()
    {
        models::MetricsOptions wanted;
        wanted.historyPath = folder.filePath(QStringLiteral("history/metrics.sqlite"));
        wanted.clock = [this] {
            return std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(nowMs.load()));
        };
        return wanted;
    }
    void serve(std::vector<std::string> next)
    {
        const std::lock_guard lock(mutex);
        pages = std::move(next);
    }
    [[nodiscard]] models::MetricsEndpoint endpoint(const QString &name = QStringLiteral("local")) const
    {
        return {name, QString::fromStdString(server.url()), {}};
    }

    QTemporaryDir folder;
    std::atomic<qint64> nowMs = start;
    std::atomic<bool> isSilent = false;
    std::atomic<int> status = 200;
    std::mutex mutex;
    std::vector<std::string> pages{page(0, 1)};
    tests::LoopbackServer server;
};

const models::ChartData &chart(const models::MetricsController &controller, const QString &id)
{
    for (const models::ChartData &data : controller.charts()) {
        if (data.id == id)
            return data;
    }
    qFatal("no chart %s", qPrintable(id));
}

int valueCount(const models::ChartData &data, std::size_t series = 0)
{
    return static_cast<int>(
        std::count_if(data.series[series].samples.begin(), data.series[series].samples.end(),
                      [](const models::Sample &sample) { return std::isfinite(sample.value); }));
}
} // namespace

class MetricsControllerTest : public QObject
{
    Q_OBJECT

private slots:
    void ratesComeFromCountersAndMissingFieldsAreNotZero()
    {
        Watched watched;
        watched.serve({page(0, 3, false), page(200, 4, false), page(400, 5, false)});
        models::JobRunner jobs;
        models::MetricsController controller(jobs, watched.options());
        controller.setRange(900);
        controller.setEndpoint(watched.endpoint());
        QTRY_VERIFY(chart(controller, "tokens").series[0].latest.value_or(0) == 100.0);
        QTRY_COMPARE(chart(controller, "requests").series[0].latest.value_or(0), 5.0);
        QCOMPARE(controller.state(), MetricsState::Live);
        QCOMPARE(controller.modelNames(), QStringList{"tiny"});
        const models::ChartData &kv = chart(controller, "kv");
        QVERIFY(!kv.series[0].latest);
        QCOMPARE(valueCount(kv), 0);
        QVERIFY2(kv.whyEmpty.contains("not exported"), qPrintable(kv.whyEmpty));
    }

    void aRestartedServerIsAnEventAndNoNegativeRate()
    {
        Watched watched;
        watched.serve({page(5000, 1), page(5200, 1), page(60, 1), page(160, 1)});
        models::JobRunner jobs;
        models::MetricsController controller(jobs, watched.options());
        controller.setRange(900);
        controller.setEndpoint(watched.endpoint());
        QTRY_VERIFY(!controller.eventsInWindow().empty());
        QVERIFY(controller.eventsInWindow().front().text.contains("restarted"));
        QTRY_VERIFY(valueCount(chart(controller, "tokens")) >= 3);
        for (const models::Sample &sample : chart(controller, "tokens").series[0].samples)
            QVERIFY(!(sample.value < 0));
    }

    void eventsAreKeptOverARestartOfTheWindow()
    {
        Watched watched;
        watched.serve({page(5000, 1), page(60, 1), page(160, 1)});
        {
            models::JobRunner jobs;
            models::MetricsController controller(jobs, watched.options());
            controller.setEndpoint(watched.endpoint());
            QTRY_VERIFY(!controller.eventsInWindow().empty());
            const QString file = watched.options().historyPath + QStringLiteral(".events");
            QTRY_VERIFY(QFileInfo(file).size() > 0);
        }
        models::JobRunner jobs;
        models::MetricsController controller(jobs, watched.options());
        controller.setEndpoint({QStringLiteral("another"), {}, {}});
        QTRY_VERIFY(!controller.isLoading());
        QVERIFY(controller.eventsInWindow().empty());
        controller.setEndpoint({QStringLiteral("local"), {}, {}}); // not running: its history is shown
        QTRY_VERIFY(!controller.eventsInWindow().empty());
        QVERIFY(controller.eventsInWindow().front().text.contains("restarted"));
    }

    void oneSampleOfALongRangeKnowsItsLeastAndGreatest()
    {
        models::SeriesBuffer buffer(60);
        buffer.append({0, 10});
        QVERIFY(std::isnan(buffer.samples().back().low)); // one scrape is no range
        buffer.append({20, 2});
        buffer.append({40, 6, 1, 30}, 3);
        const models::Sample &sample = buffer.samples().back();
        QCOMPARE(sample.low, 1.0);
        QCOMPARE(sample.high, 30.0);
        QCOMPARE(sample.value, (10 + 2 + 6 * 3) / 5.0);
    }

    void aFailedScrapeIsAGapWithItsReason()
    {
        Watched watched;
        models::JobRunner jobs;
        models::MetricsController controller(jobs, watched.options());
        controller.setRange(300); // a step is one scrape
        controller.setEndpoint(watched.endpoint());
        QTRY_VERIFY(valueCount(chart(controller, "requests")) >= 2);
        watched.status = 503;
        QTRY_VERIFY(controller.problem().has_value());
        QVERIFY2(controller.problem()->details.contains("GET http://127.0.0.1"),
                 qPrintable(controller.problem()->details));
        QVERIFY(!controller.problem()->cause.isEmpty());
        QVERIFY(std::isnan(chart(controller, "requests").series[0].samples.back().value));
        QTRY_VERIFY(!controller.eventsInWindow().empty());
        QCOMPARE(controller.eventsInWindow().back().kind, models::ChartEvent::Kind::Loss);
        watched.status = 200;
        controller.refresh();
        QTRY_VERIFY(!controller.problem().has_value());
        QCOMPARE(controller.state(), MetricsState::Live);
    }

    void oldValuesAreStaleAndNotCalledCurrent()
    {
        Watched watched;
        models::JobRunner jobs;
        models::MetricsController controller(jobs, watched.options());
        controller.setEndpoint(watched.endpoint());
        QTRY_VERIFY(chart(controller, "requests").series[0].latest.has_value());
        watched.status = 500;
        QTRY_VERIFY(controller.problem().has_value());
        watched.nowMs += 45000;
        QTRY_COMPARE(controller.state(), MetricsState::Stale);
        QVERIFY(controller.age().value_or(0) >= 45);
        QVERIFY(!chart(controller, "requests").series[0].latest);
    }

    void aSilentServerDoesNotStopTheEventLoop()
    {
        Watched watched;
        watched.isSilent = true;
        models::JobRunner jobs;
        models::MetricsController controller(jobs, watched.options());
        controller.setEndpoint(watched.endpoint());
        QTRY_VERIFY(watched.server.openConnections() == 1);
        int turns = 0;
        QTimer timer;
        connect(&timer, &QTimer::timeout, this, [&turns] { ++turns; });
        timer.start(2);
        QTRY_VERIFY(turns > 50);
        QCOMPARE(controller.state(),
                 MetricsState::Connecting); // still waiting, and the loop ran all the time
        controller.setEndpoint({});
        QTRY_COMPARE(watched.server.openConnections(), 0); // the request was given up at once
    }

    void anotherServerIsWatchedWithoutTheOldOnesValues()
    {
        Watched first;
        Watched second;
        first.serve({page(0, 11)});
        second.serve({page(0, 22)});
        models::JobRunner jobs;
        models::MetricsController controller(jobs, first.options());
        controller.setRange(900);
        controller.setEndpoint(first.endpoint(QStringLiteral("one")));
        QTRY_VERIFY(valueCount(chart(controller, "requests")) >= 2);
        controller.setEndpoint(second.endpoint(QStringLiteral("two")));
        QCOMPARE(valueCount(chart(controller, "requests")), 0);
        QTRY_VERIFY(valueCount(chart(controller, "requests")) >= 1);
        for (const models::Sample &sample : chart(controller, "requests").series[0].samples)
            QCOMPARE(sample.value, 22.0);
    }

    void theHistoryIsThereAfterTheWindowWasClosed()
    {
        Watched watched;
        models::JobRunner jobs;
        {
            models::MetricsController controller(jobs, watched.options());
            controller.setRange(900);
            controller.setEndpoint(watched.endpoint());
            QTRY_VERIFY(valueCount(chart(controller, "requests")) >= 4);
        }
        QTRY_COMPARE(jobs.pendingCount(), 0);
        watched.status = 500; // nothing new comes
        models::MetricsController controller(jobs, watched.options());
        controller.setRange(900);
        controller.setEndpoint(watched.endpoint());
        QTRY_VERIFY(valueCount(chart(controller, "requests")) >= 4);
        QVERIFY(!controller.age()); // none of it is current
    }

    void lookingBackStandsStillAndLiveGoesOn()
    {
        Watched watched;
        models::JobRunner jobs;
        models::MetricsController controller(jobs, watched.options());
        controller.setRange(900);
        controller.setEndpoint(watched.endpoint());
        QTRY_VERIFY(valueCount(chart(controller, "requests")) >= 3);
        const double from = static_cast<double>(start) / 1000;
        controller.showWindow({from, from + 3});
        QVERIFY(!controller.isLive());
        QTRY_VERIFY(!controller.isLoading());
        const int before = valueCount(chart(controller, "requests"));
        const auto requests = watched.server.requests().size();
        QTRY_VERIFY(watched.server.requests().size() > requests + 3);
        QCOMPARE(valueCount(chart(controller, "requests")), before);
        QCOMPARE(controller.window(), (models::TimeWindow{from, from + 3}));
        controller.goLive();
        QTRY_VERIFY(valueCount(chart(controller, "requests")) > before + 3);
    }

    void csvHasAColumnForEachSeriesAndEmptyFieldsForGaps()
    {
        Watched watched;
        watched.serve({page(0, 3, false), page(200, 4, false), page(400, 5, false)});
        models::JobRunner jobs;
        models::MetricsController controller(jobs, watched.options());
        controller.setRange(300); // a step is one scrape
        controller.setEndpoint(watched.endpoint());
        QTRY_VERIFY(valueCount(chart(controller, "requests")) >= 3);
        QSignalSpy exported(&controller, &models::MetricsController::exported);
        const QString path = watched.folder.filePath(QStringLiteral("all.csv"));
        controller.exportCsv(path);
        QTRY_COMPARE(exported.count(), 1);
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QList<QByteArray> lines = file.readAll().replace("\r\n", "\n").split('\n');
        const QList<QByteArray> names = lines[0].split(',');
        QCOMPARE(names[0], QByteArray("time"));
        const qsizetype running = names.indexOf("requests_running");
        const qsizetype use = names.indexOf("kv_use");
        QVERIFY2(running > 0 && use > 0, lines[0].constData());
        const QList<QByteArray> row = lines[1].split(',');
        QCOMPARE(row[0], QByteArray("2023-11-14T22:13:20.000Z"));
        QCOMPARE(row[running].toDouble(), 3.0);
        QCOMPARE(row[use], QByteArray());
        QSignalSpy failed(&controller, &models::MetricsController::exportFailed);
        controller.exportCsv(watched.folder.filePath(QStringLiteral("no/folder/x.csv")));
        QTRY_COMPARE(failed.count(), 1);
    }

    void recordedPagesAreUnderstood_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("product");
        QTest::addColumn<bool>("hasKv");
        QTest::newRow("vLLM 0.8.5") << "observed-vllm/v0.8.5/metrics-during-load.http"
                                    << "vLLM" << true;
        QTest::newRow("vLLM 0.32") << "observed-vllm/v0.32.0/metrics-during-load.http"
                                   << "vLLM" << true;
        QTest::newRow("Ray Serve LLM") << "observed-ray/10-llm-head-metrics.http"
                                       << "Ray" << true;
        QTest::newRow("Ray without a model") << "observed-ray/06-metrics-worker1-metrics.http"
                                             << "" << false;
    }
    void recordedPagesAreUnderstood()
    {
        QFETCH(QString, file);
        QFETCH(QString, product);
        QFETCH(bool, hasKv);
        Watched watched;
        watched.serve({recordedBody(file)});
        models::JobRunner jobs;
        models::MetricsController controller(jobs, watched.options());
        controller.setRange(900);
        controller.setEndpoint(watched.endpoint());
        QTRY_COMPARE(controller.state(), MetricsState::Live);
        QVERIFY2(controller.productName().contains(product), qPrintable(controller.productName()));
        QTRY_COMPARE(chart(controller, "kv").series[0].latest.has_value(), hasKv);
        QCOMPARE(chart(controller, "requests").series[0].latest.has_value(), hasKv);
        if (!hasKv)
            QVERIFY(!chart(controller, "kv").whyEmpty.isEmpty());
    }

    void oneModelOfSeveralCanBeWatched()
    {
        Watched watched;
        watched.serve({"# TYPE vllm:num_requests_running gauge\n"
                       "vllm:num_requests_running{model_name=\"a\"} 3\n"
                       "vllm:num_requests_running{engine=\"0\",model_name=\"b\"} 4\n"});
        models::JobRunner jobs;
        models::MetricsController controller(jobs, watched.options());
        controller.setEndpoint(watched.endpoint());
        QTRY_COMPARE(chart(controller, "requests").series[0].latest.value_or(0), 7.0);
        QCOMPARE(controller.modelNames(), (QStringList{"a", "b"}));
        models::MetricsEndpoint one = watched.endpoint();
        one.model = "b";
        controller.setEndpoint(one);
        QTRY_COMPARE(chart(controller, "requests").series[0].latest.value_or(0), 4.0);
        QCOMPARE(controller.modelNames(), (QStringList{"a", "b"}));
    }

    void aStoppedServerStillShowsWhatWasRecorded()
    {
        Watched watched;
        models::JobRunner jobs;
        models::MetricsController controller(jobs, watched.options());
        controller.setRange(900);
        controller.setEndpoint(watched.endpoint());
        QTRY_VERIFY(valueCount(chart(controller, "requests")) >= 2);
        controller.setEndpoint({QStringLiteral("local"), {}, {}});
        QCOMPARE(controller.state(), MetricsState::Stopped);
        const auto requests = watched.server.requests().size();
        QTRY_VERIFY(valueCount(chart(controller, "requests")) >= 2);
        QVERIFY(!chart(controller, "requests").series[0].latest);
        QCOMPARE(watched.server.requests().size(), requests);
    }

    void objectivesAreJudgedByTheirShareOfTheWindow()
    {
        Watched watched;
        watched.serve({page(0, 3), page(1, 3), page(2, 30), page(3, 3), page(4, 3, false)});
        models::JobRunner jobs;
        models::MetricsController controller(jobs, watched.options());
        controller.setRange(900);
        QVERIFY(!controller.objectiveShare("requests"));
        controller.setObjective("requests", 10);
        controller.setEndpoint(watched.endpoint());
        QTRY_VERIFY(valueCount(chart(controller, "requests")) >= 4);
        const double share = controller.objectiveShare("requests").value_or(0);
        QVERIFY(share > 0.5 && share < 1);
        QCOMPARE(chart(controller, "requests").limit->label, QStringLiteral("SLO 10"));
    }

    // The first scrape may be in the history before the history is read.
    void theScrapeOfTheMomentOfReadingCountsOnce()
    {
        Watched watched;
        models::JobRunner jobs;
        {
            models::MetricsController earlier(jobs, watched.options());
            watched.serve({page(0, 3)});
            earlier.setEndpoint(watched.endpoint());
            QTRY_VERIFY(valueCount(chart(earlier, "requests")) >= 1);
        }
        watched.nowMs = start;
        watched.serve({page(0, 3), page(1, 3), page(2, 30), page(3, 3)});
        models::MetricsController controller(jobs, watched.options());
        controller.setRange(900); // a step holds the first three scrapes
        controller.setEndpoint(watched.endpoint());
        QTRY_VERIFY(valueCount(chart(controller, "requests")) >= 2);
        QCOMPARE(chart(controller, "requests").series[0].samples.front().value, 12.0);
    }

    void bufferAveragesAStepAndKeepsGaps()
    {
        models::SeriesBuffer buffer(10);
        buffer.append({100, 2});
        buffer.append({104, 4});
        buffer.append({106, std::nan("")}); // one failed scrape among good ones is no gap
        buffer.append({111, std::nan("")});
        buffer.append({121, 8}, 3);
        buffer.append({125, 4});
        buffer.append({95, 1000}); // a clock set back
        QCOMPARE(buffer.samples().size(), std::size_t{3});
        QCOMPARE(buffer.samples()[0].value, 3.0);
        QVERIFY(std::isnan(buffer.samples()[1].value));
        QCOMPARE(buffer.samples()[2].value, 7.0);
        buffer.forgetBefore(121);
        QCOMPARE(buffer.samples().size(), std::size_t{2}); // the last one before it stays
    }

    void stepsAreRoundAndNeverBelowTheInterval()
    {
        QCOMPARE(models::stepForRange(900, 2), 5.0);
        QCOMPARE(models::stepForRange(3600, 2), 10.0);
        QCOMPARE(models::stepForRange(6 * 3600, 2), 60.0);
        QCOMPARE(models::stepForRange(24 * 3600, 2), 300.0);
        QCOMPARE(models::stepForRange(7 * 86400, 2), 1800.0);
        QCOMPARE(models::stepForRange(60, 2), 2.0);
    }
};

QTEST_GUILESS_MAIN(MetricsControllerTest)
#include "tst_metrics_controller.moc"
