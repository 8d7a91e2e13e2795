#include "cluster/observe/counter.h"
#include "cluster/observe/histogram.h"

#include <QTest>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace cluster;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const std::vector<double> ttftBounds
    = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560};

Histogram observe(const std::vector<double> &values, const std::vector<double> &bounds)
{
    Histogram histogram;
    for (const double bound : bounds)
        histogram.buckets.push_back({bound, 0});
    histogram.buckets.push_back({infinity, 0});
    for (const double value : values) {
        for (HistogramBucket &bucket : histogram.buckets) {
            if (value <= bucket.upperBound)
                bucket.cumulative += 1;
        }
        histogram.count += 1;
        histogram.sum += value;
    }
    return histogram;
}

double exactQuantile(std::vector<double> values, double q)
{
    std::sort(values.begin(), values.end());
    const auto place = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
    return values[std::max<std::size_t>(place, 1) - 1];
}

HistogramReading reading(const Histogram &histogram, std::optional<double> created = std::nullopt)
{
    return {{{"{}", histogram, created}}};
}

CounterReading counter(double value, std::optional<double> created = std::nullopt)
{
    return {{{"{}", value, created}}};
}

} // namespace

class TestHistogram : public QObject
{
    Q_OBJECT
private slots:
    void theTrueQuantileIsWithinTheBand_data();
    void theTrueQuantileIsWithinTheBand();
    void quantilesAreWhatPromQlSays();
    void wideBucketsGiveAWideBand();
    void aQuantileInTheLastBucketHasNoUpperEnd();
    void thereIsNoQuantileOfNothing();
    void onlyWhatCameInBetweenCounts();
    void aRestartedHistogramCountsFromZero_data();
    void aRestartedHistogramCountsFromZero();
    void mergingKeepsOnlyCommonBounds();
    void counterIncreases_data();
    void counterIncreases();
    void oneSeriesOfTwoMayRestart();
    void newSeriesDoNotBringTheirPast();
};

void TestHistogram::theTrueQuantileIsWithinTheBand_data()
{
    QTest::addColumn<int>("shape");
    QTest::newRow("uniform") << 0;
    QTest::newRow("exponential") << 1;
    QTest::newRow("log-normal") << 2;
    QTest::newRow("two humps") << 3;
    QTest::newRow("one value") << 4;
}

void TestHistogram::theTrueQuantileIsWithinTheBand()
{
    QFETCH(int, shape);
    std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(0, 3);
    std::exponential_distribution<double> exponential(2);
    std::lognormal_distribution<double> logNormal(-2, 1);
    std::vector<double> values;
    for (int i = 0; i < 5000; ++i) {
        const double hump = i % 10 == 0 ? 12 + uniform(random) : 0.05 + uniform(random) / 100;
        const double choices[] = {uniform(random), exponential(random), logNormal(random), hump, 0.3};
        values.push_back(choices[shape]);
    }
    const Histogram histogram = observe(values, ttftBounds);
    for (const double q : {0.5, 0.9, 0.95, 0.99}) {
        const auto found = quantile(histogram, q);
        QVERIFY(found);
        const double exact = exactQuantile(values, q);
        QVERIFY2(found->low <= exact && exact <= found->high, qPrintable(QString::number(q)));
        QVERIFY(found->low <= found->value && found->value <= found->high);
    }
}

void TestHistogram::quantilesAreWhatPromQlSays()
{
    // Hand-made: 10 of 100 up to 0.1, 60 up to 0.5, 100 up to 1.
    const Histogram histogram{{{.1, 10}, {.5, 60}, {1, 100}, {infinity, 100}}, 100, 45};
    QCOMPARE(quantile(histogram, 0.05)->value, 0.05);
    QCOMPARE(quantile(histogram, 0.5)->value, 0.1 + 0.4 * 40 / 50);
    QCOMPARE(quantile(histogram, 0.95)->value, 0.5 + 0.5 * 35 / 40);
    QCOMPARE(quantile(histogram, 1)->value, 1.0);
    QCOMPARE(histogram.mean().value_or(0), 0.45);
}

void TestHistogram::wideBucketsGiveAWideBand() // F079
{
    const Histogram histogram = observe({0.31, 0.32, 0.33}, {.3, 10});
    const auto found = quantile(histogram, 0.95);
    QCOMPARE(found->low, 0.3);
    QCOMPARE(found->high, 10.0);
}

void TestHistogram::aQuantileInTheLastBucketHasNoUpperEnd()
{
    const auto found = quantile(observe({99, 99}, {.3, 10}), 0.5);
    QCOMPARE(found->value, 10.0);
    QCOMPARE(found->low, 10.0);
    QVERIFY(std::isinf(found->high));
}

void TestHistogram::thereIsNoQuantileOfNothing()
{
    QVERIFY(!quantile({}, 0.5));
    QVERIFY(!quantile(observe({}, ttftBounds), 0.5));
    QVERIFY(!quantile(observe({1}, ttftBounds), 1.5));
    QVERIFY(!quantile(observe({1}, ttftBounds), std::nan("")));
    QVERIFY(!Histogram().mean());
}

void TestHistogram::onlyWhatCameInBetweenCounts()
{
    const std::vector<double> slow(1000, 30.0);
    std::vector<double> all = slow;
    all.insert(all.end(), 10, 0.07);
    const auto grown = increase(reading(observe(slow, ttftBounds)), reading(observe(all, ttftBounds)));
    QVERIFY(grown && !grown->wasReset);
    QCOMPARE(grown->histogram.count, 10.0);
    QVERIFY(quantile(grown->histogram, 0.99)->high <= 0.08);
}

void TestHistogram::aRestartedHistogramCountsFromZero_data()
{
    QTest::addColumn<int>("change");
    QTest::newRow("count fell") << 0;
    QTest::newRow("only a bucket fell") << 1;
    QTest::newRow("created moved") << 2;
    QTest::newRow("other bounds: another version") << 3;
}

void TestHistogram::aRestartedHistogramCountsFromZero()
{
    QFETCH(int, change);
    const Histogram before = observe({0.07, 0.07, 0.07}, ttftBounds);
    Histogram after = observe({3.0, 3.0, 3.0, 3.0}, ttftBounds);
    if (change == 0)
        after = observe({3.0, 3.0}, ttftBounds);
    if (change == 2)
        after = observe({0.07, 0.07, 0.07, 0.07}, ttftBounds);
    if (change == 3)
        after = observe({0.07, 0.07, 0.07, 0.07}, {.05, .1, 1});
    const auto grown = increase(reading(before, 1000), reading(after, change == 2 ? 1060 : 1000));
    QVERIFY(grown && grown->wasReset);
    QCOMPARE(grown->histogram.count, after.count);
}

void TestHistogram::mergingKeepsOnlyCommonBounds()
{
    const Histogram both = merge(observe({0.2, 4}, {.1, .5, 5}), observe({0.2, 4}, {.25, .5, 10}));
    QCOMPARE(both.buckets.size(), 2u);
    QCOMPARE(both.buckets[0].upperBound, 0.5);
    QCOMPARE(both.buckets[0].cumulative, 2.0);
    QCOMPARE(both.buckets[1].cumulative, 4.0);
    QCOMPARE(both.count, 4.0);
}

void TestHistogram::counterIncreases_data()
{
    QTest::addColumn<double>("before");
    QTest::addColumn<double>("after");
    QTest::addColumn<double>("createdAfter");
    QTest::addColumn<double>("amount");
    QTest::addColumn<bool>("wasReset");
    QTest::newRow("grew") << 10.0 << 15.0 << 1000.0 << 5.0 << false;
    QTest::newRow("stood") << 10.0 << 10.0 << 1000.0 << 0.0 << false;
    QTest::newRow("restarted, lower") << 10.0 << 3.0 << 1060.0 << 3.0 << true;
    QTest::newRow("restarted, higher: only created tells") << 10.0 << 12.0 << 1060.0 << 12.0 << true;
    QTest::newRow("fell without created moving") << 10.0 << 3.0 << 1000.0 << 3.0 << true;
}

void TestHistogram::counterIncreases()
{
    QFETCH(double, before);
    QFETCH(double, after);
    QFETCH(double, createdAfter);
    const auto grown = increase(counter(before, 1000), counter(after, createdAfter));
    QVERIFY(grown);
    QTEST(grown->amount, "amount");
    QTEST(grown->wasReset, "wasReset");
    QCOMPARE(rate(counter(before, 1000), counter(after, createdAfter), 2).value_or(-1), grown->amount / 2);
    QVERIFY(!rate(counter(before), counter(after), 0));
}

void TestHistogram::oneSeriesOfTwoMayRestart()
{
    // The sum went from 110 to 105: by the sum alone it would be a restart of both, 105 new ones.
    const CounterReading before{{{"{engine=\"0\"}", 100, {}}, {"{engine=\"1\"}", 10, {}}}};
    const CounterReading after{{{"{engine=\"0\"}", 103, {}}, {"{engine=\"1\"}", 2, {}}}};
    const auto grown = increase(before, after);
    QVERIFY(grown && grown->wasReset);
    QCOMPARE(grown->amount, 5.0);
    QCOMPARE(after.total(), 105.0);
}

void TestHistogram::newSeriesDoNotBringTheirPast()
{
    const CounterReading before{{{"a", 1, {}}}};
    const CounterReading old{{{"a", 2, {}}, {"b", 1000, 500.0}}};
    QCOMPARE(increase(before, old, 1000.0)->amount, 1.0);
    const CounterReading young{{{"a", 2, {}}, {"b", 7, 1001.0}}};
    QCOMPARE(increase(before, young, 1000.0)->amount, 8.0);
    QVERIFY(!increase(before, CounterReading{{{"b", 7, {}}}}, 1000.0));
    QVERIFY(!increase(CounterReading{}, CounterReading{}, 1000.0));
}

QTEST_APPLESS_MAIN(TestHistogram)
#include "tst_histogram.moc"
