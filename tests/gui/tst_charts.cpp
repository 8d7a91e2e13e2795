#include "models/metrics/value_format.h"
#include "ui/charts/chart_group.h"
#include "ui/charts/chart_legend.h"
#include "ui/charts/decimation.h"
#include "ui/charts/metric_chart.h"
#include "ui/charts/nice_axis.h"
#include "ui/charts/plot_area.h"
#include "ui/theme/theme.h"

#include <QAccessible>
#include <QClipboard>
#include <QImage>
#include <QMenu>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>

using models::ChartUnit;
using models::Sample;

namespace {
constexpr double gap = std::numeric_limits<double>::quiet_NaN();

std::vector<Sample> ramp(int count, double from = 1000)
{
    std::vector<Sample> samples;
    for (int i = 0; i < count; ++i)
        samples.push_back({from + i, static_cast<double>(i % 50)});
    return samples;
}

models::ChartData twoSeries()
{
    models::ChartData data;
    data.title = QStringLiteral("Requests");
    data.series = {{QStringLiteral("running"), ramp(100), 103.0}, {QStringLiteral("waiting"), ramp(100), {}}};
    return data;
}

class Charts
{
public:
    Charts()
    {
        for (int i = 0; i < 2; ++i) {
            auto *chart
                = new ui::MetricChart(theme, group, QStringLiteral("Chart %1").arg(i),
                                      {{QStringLiteral("chart.1")}, {QStringLiteral("chart.2")}}, &window);
            chart->setGeometry(i * 410, 0, 400, 240);
            charts.push_back(chart);
        }
        window.resize(820, 240);
        window.show();
        for (ui::MetricChart *chart : charts)
            chart->setData(twoSeries(), {1000, 1100}, 3);
        QCoreApplication::processEvents();
        window.grab();
    }

    [[nodiscard]] QPoint at(int chart, double time) const
    {
        const ui::PlotArea &area = charts[static_cast<std::size_t>(chart)]->plotArea();
        return {static_cast<int>(std::lround(area.layer().xOf(time))), area.height() / 2};
    }
    [[nodiscard]] QWidget *area(int chart) const
    {
        return const_cast<ui::PlotArea *>(&charts[static_cast<std::size_t>(chart)]->plotArea());
    }

    ui::Theme theme;
    ui::ChartGroup group;
    QWidget window;
    std::vector<ui::MetricChart *> charts;
};
} // namespace

class ChartsTest : public QObject
{
    Q_OBJECT

private slots:
    void decimationKeepsTheExtremesOfEachColumn()
    {
        std::vector<Sample> samples;
        for (int i = 0; i < 36000; ++i)
            samples.push_back({i * 0.1, 10 + std::sin(i * 0.01)});
        samples[12345].value = 99;
        samples[23456].value = -7;
        const auto runs = ui::decimate(samples, {0, 3600}, 300, 0);
        QCOMPARE(runs.size(), std::size_t{1});
        QVERIFY2(runs[0].size() <= 2 * 301 + 2, qPrintable(QString::number(runs[0].size())));
        double least = 1e9;
        double greatest = -1e9;
        double before = -1e9;
        for (const QPointF &point : runs[0]) {
            least = std::min(least, point.y());
            greatest = std::max(greatest, point.y());
            QVERIFY(point.x() > before);
            before = point.x();
        }
        QCOMPARE(least, -7.0);
        QCOMPARE(greatest, 99.0);
        QCOMPARE(runs[0].constFirst().x(), -3600.0);
        QCOMPARE(runs[0].constLast().x(), samples.back().time - 3600);
    }

    void gapsAreNotBridged_data()
    {
        QTest::addColumn<int>("lostFrom");
        QTest::addColumn<int>("lostTo");
        QTest::addColumn<bool>("isMarked");
        QTest::addColumn<int>("runs");
        QTest::newRow("a marked gap") << 40 << 41 << true << 2;
        QTest::newRow("samples that never came") << 40 << 50 << false << 2;
        QTest::newRow("one sample missing is within the longest step") << 40 << 41 << false << 1;
        QTest::newRow("a gap at the start") << 0 << 5 << true << 1;
        QTest::newRow("nothing but gaps") << 0 << 100 << true << 0;
    }
    void gapsAreNotBridged()
    {
        QFETCH(int, lostFrom);
        QFETCH(int, lostTo);
        QFETCH(bool, isMarked);
        std::vector<Sample> samples;
        for (const Sample &sample : ramp(100)) {
            const int i = static_cast<int>(sample.time - 1000);
            const bool isLost = i >= lostFrom && i < lostTo;
            if (!isLost)
                samples.push_back(sample);
            else if (isMarked)
                samples.push_back({sample.time, gap});
        }
        QTEST(static_cast<int>(ui::decimate(samples, {1000, 1100}, 200, 3).size()), "runs");
    }

    void aMovingWindowDoesNotChangeWhatItKeeps()
    {
        const auto samples = ramp(2000);
        const auto first = ui::decimate(samples, {1100, 2100}, 100, 0);
        const auto second = ui::decimate(samples, {1110, 2110}, 100, 0); // one column later
        QCOMPARE(second[0][5] + QPointF(10, 0), first[0][7]);
    }

    void axisGrowsAtOnceAndShrinksOnlyByHalf()
    {
        const ui::NiceAxis start = ui::niceAxis(ChartUnit::Tokens, 100);
        QCOMPARE(start.maximum, 125.0);
        QCOMPARE(ui::nextAxis(ChartUnit::Tokens, start, 124), start); // swings below the top change nothing
        QCOMPARE(ui::nextAxis(ChartUnit::Tokens, start, 70), start);
        QVERIFY(ui::nextAxis(ChartUnit::Tokens, start, 126).maximum >= 126);
        QVERIFY(ui::nextAxis(ChartUnit::Tokens, start, 20).maximum <= 25);
        QCOMPARE(ui::nextAxis(ChartUnit::Tokens, start, gap), start);
        QCOMPARE(ui::niceAxis(ChartUnit::Ratio, 0.3).maximum, 1.0);
        QCOMPARE(ui::niceAxis(ChartUnit::Count, 0.4).step, 1.0);
    }

    void axisEndsOnATickAboveTheValue_data()
    {
        QTest::addColumn<double>("greatest");
        for (const double value : {0.00012, 0.0379, 0.99, 1.0, 7.2, 108.0, 999.0, 7193.0, 2.5e6})
            QTest::addRow("%g", value) << value;
    }
    void axisEndsOnATickAboveTheValue()
    {
        QFETCH(double, greatest);
        const ui::NiceAxis axis = ui::niceAxis(ChartUnit::Seconds, greatest);
        QVERIFY(axis.maximum >= greatest);
        QVERIFY(axis.maximum <= greatest * 1.7);
        const double steps = axis.maximum / axis.step;
        QVERIFY(std::abs(steps - std::round(steps)) < 1e-9);
        QVERIFY(steps >= 3 && steps <= 5);
    }

    void timeTicksAreRoundWhereTheReaderIs()
    {
        const double noon = 1700000000 - 1700000000 % 86400 + 43200;
        const auto ticks = ui::timeTicks({noon, noon + 3600}, 5, 5.5 * 3600); // a zone half an hour off
        QCOMPARE(ticks.step, 900.0);
        QVERIFY(ticks.times.size() >= 4);
        for (const double time : ticks.times)
            QCOMPARE(std::fmod(time + 5.5 * 3600, 900), 0.0);
    }

    void valuesAreWrittenWithTheirUnit_data()
    {
        QTest::addColumn<int>("unit");
        QTest::addColumn<double>("value");
        QTest::addColumn<QString>("text");
        const auto row = [](ChartUnit unit, double value, const char *text) {
            QTest::addRow("%s", text) << static_cast<int>(unit) << value << QString::fromUtf8(text);
        };
        row(ChartUnit::Seconds, 0.0211, "21.1 ms");
        row(ChartUnit::Seconds, 0.379, "379 ms");
        row(ChartUnit::Seconds, 4.0, "4.00 s");
        row(ChartUnit::Seconds, 11.04, "11.0 s");
        row(ChartUnit::Ratio, 0.77, "77%");
        row(ChartUnit::Count, 103, "103");
        row(ChartUnit::PerSecond, 2473, "2,473");
        row(ChartUnit::Count, gap, "–");
    }
    void valuesAreWrittenWithTheirUnit()
    {
        QFETCH(int, unit);
        QFETCH(double, value);
        QTEST(models::valueText(static_cast<ChartUnit>(unit), value), "text");
    }

    void aGapNearTheCrossHairHasNoValue()
    {
        auto samples = ramp(10);
        samples[5].value = gap;
        QVERIFY(std::isnan(ui::valueNear(samples, 1005.2, 3)));
        QCOMPARE(ui::valueNear(samples, 1004.4, 3), 4.0);
        QVERIFY(std::isnan(ui::valueNear(samples, 1050, 3)));
    }

    void allChartsShareOneCrossHair()
    {
        Charts page;
        QTest::mouseMove(page.area(0), page.at(0, 1042));
        QVERIFY(page.group.crossHair());
        QVERIFY(std::abs(*page.group.crossHair() - 1042) < 0.5);
        for (const ui::MetricChart *chart : page.charts)
            QCOMPARE(chart->seriesText(0), QStringLiteral("running 42"));
        page.group.setCrossHair(std::nullopt);
        QCOMPARE(page.charts[1]->seriesText(0), QStringLiteral("running 103")); // the newest again
        QCOMPARE(page.charts[1]->seriesText(1), QStringLiteral("waiting –"));
    }

    void aMovingCrossHairDrawsOnlyTheOverlay()
    {
        Charts page;
        const int drawn = page.charts[0]->plotArea().layer().drawCount();
        const QImage before = page.window.grab().toImage();
        page.group.setCrossHair(1050);
        const QImage after = page.window.grab().toImage();
        QVERIFY(before != after);
        QCOMPARE(page.charts[0]->plotArea().layer().drawCount(), drawn);
    }

    void aHiddenChartDoesNoWorkUntilItIsShown()
    {
        Charts page;
        page.window.hide();
        const int replaced = page.charts[0]->plotArea().layer().replaceCount();
        models::ChartData data = twoSeries();
        for (int i = 0; i < 5; ++i) {
            data.series[0].samples.push_back({1100.0 + i, 400});
            page.charts[0]->setData(data, {1005, 1105}, 3);
        }
        QCOMPARE(page.charts[0]->plotArea().layer().replaceCount(), replaced);
        page.window.show();
        QVERIFY(page.charts[0]->plotArea().layer().replaceCount() > replaced);
        QVERIFY(page.charts[0]->plotArea().layer().axis().maximum > 400);
    }

    void unchangedSeriesAreNotReplaced()
    {
        Charts page;
        const int replaced = page.charts[0]->plotArea().layer().replaceCount();
        models::ChartData data = twoSeries();
        data.series[1].samples.back().value = 33;
        page.charts[0]->setData(data, {1000, 1100}, 3);
        QCOMPARE(page.charts[0]->plotArea().layer().replaceCount(), replaced + 1);
    }

    void draggingSelectsARangeAndADoubleClickResets()
    {
        Charts page;
        QList<models::TimeWindow> ranges;
        connect(&page.group, &ui::ChartGroup::rangeSelected, this,
                [&ranges](const models::TimeWindow &window) { ranges << window; });
        QSignalSpy resets(&page.group, &ui::ChartGroup::resetRequested);
        QTest::mousePress(page.area(0), Qt::LeftButton, {}, page.at(0, 1080)); // from right to left
        QTest::mouseMove(page.area(0), page.at(0, 1050));
        QTest::mouseMove(page.area(0), page.at(0, 1020));
        QTest::mouseRelease(page.area(0), Qt::LeftButton, {}, page.at(0, 1020));
        QCOMPARE(ranges.size(), 1);
        QVERIFY(std::abs(ranges[0].from - 1020) < 1 && std::abs(ranges[0].to - 1080) < 1);
        QTest::mouseClick(page.area(0), Qt::LeftButton, {}, page.at(0, 1050)); // a click is no range
        QTest::mouseDClick(page.area(0), Qt::LeftButton, {}, page.at(0, 1050));
        QCOMPARE(ranges.size(), 1);
        QCOMPARE(resets.count(), 1);
    }

    void keysMoveTheCrossHairAndCopyValues()
    {
        Charts page;
        ui::MetricChart *chart = page.charts[0];
        QTest::keyClick(chart, Qt::Key_End);
        QCOMPARE(page.group.crossHair().value_or(0), 1099.0);
        QTest::keyClick(chart, Qt::Key_Left);
        QCOMPARE(page.group.crossHair().value_or(0), 1098.0);
        QTest::keyClick(chart, Qt::Key_Home);
        QTest::keyClick(chart, Qt::Key_Left);
        QCOMPARE(page.group.crossHair().value_or(0), 1000.0);
        QTest::keyClick(chart, Qt::Key_Right);
        QCOMPARE(page.group.crossHair().value_or(0), 1001.0);
        QTest::keyClick(chart, Qt::Key_C, Qt::ControlModifier);
        const QString copied = QGuiApplication::clipboard()->text();
        QVERIFY2(copied.startsWith(QStringLiteral("Chart 0\t")), qPrintable(copied));
        QVERIFY2(copied.endsWith(QStringLiteral("\nrunning\t1\nwaiting\t1")), qPrintable(copied));
        QTest::keyClick(chart, Qt::Key_Escape);
        QVERIFY(!page.group.crossHair());
    }

    void aScreenReaderFindsTheSeriesWithTheirValues()
    {
        Charts page;
        QAccessibleInterface *chart = QAccessible::queryAccessibleInterface(page.charts[0]);
        QVERIFY(chart);
        QCOMPARE(chart->role(), QAccessible::Chart);
        QCOMPARE(chart->text(QAccessible::Name), QStringLiteral("Chart 0"));
        QVERIFY(chart->childCount() >= 2);
        QCOMPARE(chart->child(0)->text(QAccessible::Name), QStringLiteral("running 103"));
        QCOMPARE(chart->indexOfChild(chart->child(1)), 1);
        page.group.setCrossHair(1007);
        QCOMPARE(chart->child(1)->text(QAccessible::Name), QStringLiteral("waiting 7"));
    }

    void aGapLeavesThePlotEmptyThere()
    {
        Charts page;
        models::ChartData data;
        data.unit = ChartUnit::Ratio;
        data.series = {{QStringLiteral("use"), {}, {}}};
        for (int i = 0; i <= 100; ++i)
            data.series[0].samples.push_back({1000.0 + i, i > 40 && i < 60 ? gap : 0.6});
        page.charts[0]->setData(data, {1000, 1100}, 3);
        const QImage shot = page.area(0)->grab().toImage();
        const auto &layer = page.charts[0]->plotArea().layer();
        const QColor line = page.theme.color(QStringLiteral("chart.1"));
        const auto isDrawnAt = [&](double time) {
            const QColor there
                = shot.pixelColor(static_cast<int>(layer.xOf(time)), static_cast<int>(layer.yOf(0.6)));
            return std::abs(there.red() - line.red()) + std::abs(there.blue() - line.blue()) < 120;
        };
        QVERIFY(isDrawnAt(1020));
        QVERIFY(isDrawnAt(1080));
        QVERIFY(!isDrawnAt(1050));
    }

    void theCardIsWrittenAsAPicture()
    {
        Charts page;
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("chart.png"));
        QVERIFY(page.charts[0]->writePicture(path));
        QCOMPARE(QImage(path).size(), page.charts[0]->size() * 2);
        QVERIFY(!page.charts[0]->writePicture(folder.filePath(QStringLiteral("no/such/folder.png"))));
    }

    void anEmptyChartSaysWhy()
    {
        Charts page;
        models::ChartData data;
        data.series = {{QStringLiteral("p95"), {}, {}}};
        data.whyEmpty = QStringLiteral("not exported by this version of vLLM");
        page.charts[0]->setData(data, {1000, 1100}, 3);
        QVERIFY(!page.charts[0]->plotArea().hasValues());
        QAccessibleInterface *chart = QAccessible::queryAccessibleInterface(page.charts[0]);
        QCOMPARE(chart->text(QAccessible::Description), data.whyEmpty);
    }
};

QTEST_MAIN(ChartsTest)
#include "tst_charts.moc"
