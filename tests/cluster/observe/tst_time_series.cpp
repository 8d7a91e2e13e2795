#include "cluster/observe/half_alive.h"
#include "cluster/observe/metric_csv.h"
#include "cluster/observe/time_series.h"

#include <QTest>
#include <cmath>

using namespace cluster;

namespace {

SampleTime at(double seconds)
{
    return SampleTime{std::chrono::milliseconds(static_cast<std::int64_t>(1796000000000 + seconds * 1000))};
}

ServingSample sampleAt(double seconds, double tokens, double running = 1)
{
    ServingSample sample;
    sample.time = at(seconds);
    sample.running = running;
    sample.outputTokens = CounterReading{{{"", tokens, {}}}};
    return sample;
}

void setTtft(ServingSample &sample, double fast, double slow)
{
    Histogram histogram;
    histogram.buckets = {{.1, fast}, {1, fast}, {10, fast + slow}, {INFINITY, fast + slow}};
    histogram.count = fast + slow;
    sample.ttft = HistogramReading{{{"", histogram, {}}}};
}

const std::vector<ChartPoint> &points(const ServingSeries &series, ChartMetric metric)
{
    return series.series(metric).points();
}

} // namespace

class TestTimeSeries : public QObject
{
    Q_OBJECT
private slots:
    void namesAreUniqueAndFindable();
    void ratesComeFromTwoScrapes();
    void aRestartIsNoNegativeRate();
    void aFailedScrapeIsAGap();
    void aLateScrapeIsAGap();
    void missingFieldsAreGapsNotZero();
    void percentilesAreThoseOfTheWindow();
    void errorsAreNotCountedTwice();
    void anOldReasonOfFinishingDoesNotHideANewOne();
    void aClockSetBackIsIgnored();
    void memoryIsBoundedAndGapsStay();
    void summariesKeepMeanLeastAndGreatest();
    void gapsAndValuesInTurnAreBoundedToo();
    void rangesIncludeBothEnds();
    void csvLeavesGapsEmpty();
    void frozenTokensWithWaitingRequestsAreHalfAlive(); // F053
    void halfAliveNeedsEvidence_data();
    void halfAliveNeedsEvidence();
};

void TestTimeSeries::namesAreUniqueAndFindable()
{
    for (std::size_t i = 0; i < chartMetricCount; ++i) {
        const auto metric = static_cast<ChartMetric>(i);
        QCOMPARE(chartMetricByName(chartMetricFacts(metric).name), std::optional(metric));
    }
    QVERIFY(!chartMetricByName("nonsense"));
}

void TestTimeSeries::ratesComeFromTwoScrapes()
{
    ServingSeries series;
    series.add(sampleAt(0, 1000));
    QVERIFY(points(series, ChartMetric::OutputTokensPerSecond).empty());
    QCOMPARE(points(series, ChartMetric::RequestsRunning).size(), 1u);
    series.add(sampleAt(2, 1300));
    QCOMPARE(points(series, ChartMetric::OutputTokensPerSecond).size(), 1u);
    QCOMPARE(points(series, ChartMetric::OutputTokensPerSecond)[0].value, 150.0);
}

void TestTimeSeries::aRestartIsNoNegativeRate()
{
    ServingSeries series;
    series.add(sampleAt(0, 1000));
    series.add(sampleAt(2, 40));
    QCOMPARE(points(series, ChartMetric::OutputTokensPerSecond)[0].value, 20.0);
}

void TestTimeSeries::aFailedScrapeIsAGap()
{
    ServingSeries series;
    series.add(sampleAt(0, 1000));
    series.add(sampleAt(2, 1100));
    series.scrapeFailed(at(4));
    series.scrapeFailed(at(6));
    series.add(sampleAt(8, 1200)); // what was made meanwhile has no known moment
    series.add(sampleAt(10, 1300));
    const auto &running = points(series, ChartMetric::RequestsRunning);
    QCOMPARE(running.size(), 5u);
    QVERIFY(running[2].isGap() && !running[3].isGap());
    const auto &rate = points(series, ChartMetric::OutputTokensPerSecond);
    QCOMPARE(rate.size(), 3u);
    QVERIFY(rate[1].isGap());
    QCOMPARE(rate[2].value, 50.0);
}

void TestTimeSeries::aLateScrapeIsAGap()
{
    ServingSeries series({std::chrono::milliseconds(2000), 2.5, std::chrono::milliseconds(30000), 100});
    series.add(sampleAt(0, 0));
    series.add(sampleAt(4, 100)); // late, but within two and a half intervals
    series.add(sampleAt(60, 200));
    const auto &running = points(series, ChartMetric::RequestsRunning);
    QCOMPARE(running.size(), 4u);
    QVERIFY(running[2].isGap());
    QCOMPARE(running[2].time, at(6));
}

void TestTimeSeries::missingFieldsAreGapsNotZero()
{
    ServingSeries series;
    series.add(sampleAt(0, 0));
    series.add(sampleAt(2, 0));
    QVERIFY(points(series, ChartMetric::KvUse).empty());
    QVERIFY(points(series, ChartMetric::PreemptionsPerMinute).empty());
    QVERIFY(points(series, ChartMetric::TtftP95).empty());
    QCOMPARE(points(series, ChartMetric::OutputTokensPerSecond)[0].value, 0.0); // known, and nothing came
}

void TestTimeSeries::percentilesAreThoseOfTheWindow()
{
    ServingSeries series({std::chrono::milliseconds(2000), 2.5, std::chrono::milliseconds(10000), 100});
    double slow = 0;
    for (int i = 0; i <= 10; ++i) {
        ServingSample sample = sampleAt(2 * i, 0);
        if (i == 1)
            slow = 100; // one bad moment
        setTtft(sample, 100 * i, slow);
        series.add(sample);
    }
    const auto &p95 = points(series, ChartMetric::TtftP95);
    QVERIFY(p95.front().value > 1);
    QCOMPARE(p95.front().low, 1.0);
    QCOMPARE(p95.front().high, 10.0);
    QVERIFY(p95.back().value <= 0.1);
    QCOMPARE(p95.back().low, 0.0);
}

void TestTimeSeries::errorsAreNotCountedTwice()
{
    ServingSample before = sampleAt(0, 0);
    before.errors = CounterReading{{{"", 1, {}}}};
    before.finished["error"] = CounterReading{{{"", 1, {}}}};
    ServingSample after = sampleAt(60, 0);
    after.errors = CounterReading{{{"", 3, {}}}};
    after.finished["error"] = CounterReading{{{"", 6, {}}}};
    const ChartValues values = deriveCharts(&before, after);
    QCOMPARE(values[static_cast<std::size_t>(ChartMetric::ErrorsPerMinute)]->value, 5.0);
}

void TestTimeSeries::anOldReasonOfFinishingDoesNotHideANewOne()
{
    // vLLM V0 shows a reason only at its first use.
    ServingSample before = sampleAt(0, 0);
    before.finished["stop"] = CounterReading{{{"m", 10, {}}}};
    ServingSample after = sampleAt(2, 0);
    after.finished["stop"] = CounterReading{{{"m", 11, {}}}};
    after.finished["length"] = CounterReading{{{"m", 3, {}}}};
    const ChartValues values = deriveCharts(&before, after);
    QCOMPARE(values[static_cast<std::size_t>(ChartMetric::RequestsPerSecond)]->value, 2.0);
}

void TestTimeSeries::aClockSetBackIsIgnored()
{
    ServingSeries series;
    series.add(sampleAt(100, 0));
    series.add(sampleAt(102, 100));
    series.add(sampleAt(50, 200));
    series.add(sampleAt(104, 300));
    const auto &rate = points(series, ChartMetric::OutputTokensPerSecond);
    for (std::size_t i = 1; i < rate.size(); ++i)
        QVERIFY(rate[i - 1].time < rate[i].time);
    for (const ChartPoint &point : rate)
        QVERIFY(point.isGap() || point.value >= 0);
}

void TestTimeSeries::memoryIsBoundedAndGapsStay()
{
    TimeSeries series(100);
    for (int i = 0; i < 10000; ++i)
        series.append(i == 5000 ? ChartPoint::gap(at(i)) : ChartPoint{at(i), 1, 1, 1, 1});
    QVERIFY(series.points().size() <= 100);
    int gaps = 0;
    int weight = 0;
    for (const ChartPoint &point : series.points()) {
        gaps += point.isGap() ? 1 : 0;
        weight += point.isGap() ? 0 : point.weight;
    }
    QCOMPARE(gaps, 1);
    QCOMPARE(weight, 9999);
    QCOMPARE(series.points().back().time, at(9999));
    QCOMPARE(series.points().back().weight, 1); // the newest stay as they are
}

void TestTimeSeries::summariesKeepMeanLeastAndGreatest()
{
    TimeSeries series(16);
    for (int i = 0; i < 1000; ++i)
        series.append({at(i), i % 2 == 0 ? 0. : 10., i % 2 == 0 ? 0. : 10., i % 2 == 0 ? 0. : 10., 1});
    const ChartPoint oldest = series.points().front();
    QVERIFY(oldest.weight > 1);
    QCOMPARE(oldest.low, 0.0);
    QCOMPARE(oldest.high, 10.0);
    QVERIFY(oldest.value > 2 && oldest.value < 8);
}

void TestTimeSeries::gapsAndValuesInTurnAreBoundedToo()
{
    TimeSeries series(64);
    for (int i = 0; i < 5000; ++i)
        series.append(i % 2 == 0 ? ChartPoint::gap(at(i)) : ChartPoint{at(i), 1, 1, 1, 1});
    QVERIFY(series.points().size() <= 64);
    QCOMPARE(series.points().back().time, at(4999));
}

void TestTimeSeries::rangesIncludeBothEnds()
{
    TimeSeries series;
    for (int i = 0; i < 10; ++i)
        series.append({at(i), 1, 1, 1, 1});
    QCOMPARE(series.range(at(3), at(6)).size(), 4u);
    QVERIFY(series.range(at(20), at(30)).empty());
    QVERIFY(series.range(at(6), at(3)).empty());
}

void TestTimeSeries::csvLeavesGapsEmpty()
{
    const std::vector<CsvColumn> columns = {
        {ChartMetric::RequestsRunning, {{at(0), 3, 3, 3, 1}, ChartPoint::gap(at(2)), {at(4.5), 0, 0, 0, 1}}},
        {ChartMetric::TtftP95, {{at(0), 0.125, 0.1, 0.25, 1}}},
    };
    QCOMPARE(chartCsv(columns),
             std::string("time,unix_ms,requests_running,ttft_p95\r\n"
                         "2026-11-30T00:53:20.000Z,1796000000000,3,0.125\r\n"
                         "2026-11-30T00:53:22.000Z,1796000002000,,\r\n"
                         "2026-11-30T00:53:24.500Z,1796000004500,0,\r\n"));
    QCOMPARE(chartCsv({}), std::string("time,unix_ms\r\n"));
}

void TestTimeSeries::frozenTokensWithWaitingRequestsAreHalfAlive()
{
    HalfAliveRule rule({3, std::chrono::seconds(15)});
    ServingSample sample = sampleAt(0, 500, 0);
    sample.waiting = 3;
    QCOMPARE(rule.observe(sample), Liveness::Unknown);
    for (int i = 1; i <= 2; ++i) {
        sample.time = at(20 * i);
        QVERIFY(rule.observe(sample) != Liveness::HalfAlive);
    }
    sample.time = at(60);
    QCOMPARE(rule.observe(sample), Liveness::HalfAlive);
    QVERIFY(rule.explanation().find("3 requests") != std::string::npos);
    QVERIFY(rule.explanation().find("60 s") != std::string::npos);
    sample.time = at(62);
    sample.outputTokens->parts[0].value = 501;
    QCOMPARE(rule.observe(sample), Liveness::Working);
    QVERIFY(rule.explanation().empty());
}

void TestTimeSeries::halfAliveNeedsEvidence_data()
{
    QTest::addColumn<int>("circumstance");
    QTest::addColumn<int>("expected");
    QTest::newRow("nothing to do") << 0 << static_cast<int>(Liveness::Idle);
    QTest::newRow("steps go on: a long prefill") << 1 << static_cast<int>(Liveness::Working);
    QTest::newRow("too short") << 2 << static_cast<int>(Liveness::Unknown);
    QTest::newRow("no counters on the page") << 3 << static_cast<int>(Liveness::Unknown);
    QTest::newRow("no gauges on the page") << 4 << static_cast<int>(Liveness::Unknown);
}

void TestTimeSeries::halfAliveNeedsEvidence()
{
    QFETCH(int, circumstance);
    QFETCH(int, expected);
    HalfAliveRule rule({3, std::chrono::seconds(15)});
    Liveness last = Liveness::Unknown;
    for (int i = 0; i < 10; ++i) {
        ServingSample sample = sampleAt(circumstance == 2 ? i : 10 * i, 500, circumstance == 0 ? 0 : 2);
        if (circumstance == 1)
            sample.steps = CounterReading{{{"", 100. + i, {}}}};
        if (circumstance == 3)
            sample.outputTokens.reset();
        if (circumstance == 4)
            sample.running.reset();
        last = rule.observe(sample);
    }
    QCOMPARE(static_cast<int>(last), expected);
}

QTEST_APPLESS_MAIN(TestTimeSeries)
#include "tst_time_series.moc"
