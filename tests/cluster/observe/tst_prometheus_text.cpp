#include "cluster/observe/prometheus_text.h"

#include "recorded.h"
#include <QTest>
#include <cmath>
#include <limits>

using namespace cluster;

class TestPrometheusText : public QObject
{
    Q_OBJECT
private slots:
    void everyRecordedPageIsReadWithoutAProblem_data();
    void everyRecordedPageIsReadWithoutAProblem();
    void labelsAreSortedSoThatTheirOrderDoesNotMatter();
    void escapesInLabelsAndHelpBecomeText();
    void numbersOfEveryFormAreRead_data();
    void numbersOfEveryFormAreRead();
    void timestampsAreSecondsWhateverThePageCounts();
    void exemplarsAndCarriageReturnsAreNoPartOfTheValue();
    void namesInQuotesAreRead();
    void aBadLineIsNamedAndTheRestIsRead_data();
    void aBadLineIsNamedAndTheRestIsRead();
    void aFamilyAnnouncedTwiceIsOneFamily();
    void problemsAreBounded();
    void cutOffPagesNeverCrash();
};

void TestPrometheusText::everyRecordedPageIsReadWithoutAProblem_data()
{
    QTest::addColumn<QString>("file");
    QTest::addColumn<int>("points"); // counted by another program
    QTest::newRow("vLLM 0.32 at start") << "observed-vllm/v0.32.0/metrics-at-start.http" << 429;
    QTest::newRow("vLLM 0.32 under load") << "observed-vllm/v0.32.0/metrics-during-load.http" << 628;
    QTest::newRow("vLLM 0.32 after load") << "observed-vllm/v0.32.0/metrics-after-load.http" << 628;
    QTest::newRow("vLLM 0.32 with flags, under load")
        << "observed-vllm/v0.32.0/flags-metrics-during-load.http" << 547;
    QTest::newRow("vLLM 0.32 with flags") << "observed-vllm/v0.32.0/flags-metrics-after-load.http" << 547;
    QTest::newRow("vLLM 0.8.5 at start") << "observed-vllm/v0.8.5/metrics-at-start.http" << 41;
    QTest::newRow("vLLM 0.8.5 under load") << "observed-vllm/v0.8.5/metrics-during-load.http" << 397;
    QTest::newRow("vLLM 0.8.5 after load") << "observed-vllm/v0.8.5/metrics-after-load.http" << 397;
    QTest::newRow("vLLM 0.8.5 multi-process, load")
        << "observed-vllm/v0.8.5/flags-metrics-during-load.http" << 248;
    QTest::newRow("vLLM 0.8.5 multi-process") << "observed-vllm/v0.8.5/flags-metrics-after-load.http" << 248;
    QTest::newRow("Ray worker") << "observed-ray/06-metrics-worker1-metrics.http" << 340;
    QTest::newRow("Ray head with vLLM") << "observed-ray/10-llm-head-metrics.http" << 657;
    QTest::newRow("Ray dashboard") << "observed-ray/06-metrics-dashboard-44227.http" << 22;
    QTest::newRow("Ray autoscaler") << "observed-ray/06-metrics-autoscaler-44217.http" << 91;
}

void TestPrometheusText::everyRecordedPageIsReadWithoutAProblem()
{
    QFETCH(QString, file);
    const MetricPage page = parsePrometheusText(tests::recordedBody(file.toStdString()));
    for (const PageProblem &problem : page.problems)
        qWarning("line %d: %s", problem.line, problem.message.c_str());
    QVERIFY(page.problems.empty());
    QFETCH(int, points);
    QCOMPARE(static_cast<int>(page.points.size()), points);
    QVERIFY(!page.families.empty());
    for (const MetricFamily &family : page.families)
        QVERIFY2(family.type != MetricType::Unknown, family.name.c_str());
}

void TestPrometheusText::labelsAreSortedSoThatTheirOrderDoesNotMatter()
{
    const MetricPage page = parsePrometheusText("a{x=\"1\", b=\"2\" , }  3\na{b=\"2\",x=\"1\"} 4\n");
    QCOMPARE(page.points.size(), 2u);
    QCOMPARE(page.points[0].labels, page.points[1].labels);
    QCOMPARE(labelText(page.points[0].labels), std::string("{b=\"2\",x=\"1\"}"));
    QCOMPARE(page.find("a").size(), 2u);
    QVERIFY(page.find("b").empty());
}

void TestPrometheusText::escapesInLabelsAndHelpBecomeText()
{
    const MetricPage page = parsePrometheusText("# HELP a one\\ntwo \\\\ \\x\n"
                                                "a{l=\"q\\\" b\\\\ n\\n c\\d }{,=#\"} 1\n");
    QVERIFY(page.problems.empty());
    QCOMPARE(page.families.at(0).help, std::string("one\ntwo \\ \\x"));
    QCOMPARE(page.points.at(0).labels.at(0).second, std::string("q\" b\\ n\n c\\d }{,=#"));
    QCOMPARE(labelText(page.points.at(0).labels), std::string("{l=\"q\\\" b\\\\ n\\n c\\\\d }{,=#\"}"));
}

void TestPrometheusText::numbersOfEveryFormAreRead_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<double>("value");
    constexpr double infinity = std::numeric_limits<double>::infinity();
    QTest::newRow("integer") << "17" << 17.0;
    QTest::newRow("python float") << "17.0" << 17.0;
    QTest::newRow("exponent") << "1.7960484701120532e+09" << 1.7960484701120532e+09;
    QTest::newRow("plus sign") << "+5e-1" << 0.5;
    QTest::newRow("plus infinity") << "+Inf" << infinity;
    QTest::newRow("infinity") << "Inf" << infinity;
    QTest::newRow("minus infinity") << "-Inf" << -infinity;
    QTest::newRow("too large") << "1e999" << infinity;
    QTest::newRow("not a number") << "NaN" << std::nan("");
}

void TestPrometheusText::numbersOfEveryFormAreRead()
{
    QFETCH(QString, text);
    QFETCH(double, value);
    const MetricPage page = parsePrometheusText("a " + text.toStdString());
    QVERIFY(page.problems.empty());
    if (std::isnan(value))
        QVERIFY(std::isnan(page.points.at(0).value));
    else
        QVERIFY(page.points.at(0).value == value);
}

void TestPrometheusText::timestampsAreSecondsWhateverThePageCounts()
{
    const MetricPage text = parsePrometheusText("a 1 1796049420500\n");
    QVERIFY(!text.isOpenMetrics);
    QCOMPARE(text.points.at(0).timestamp.value_or(0), 1796049420.5);
    const MetricPage open
        = parsePrometheusText("# TYPE a counter\n# UNIT a seconds\na_total 1 1796049420.5\n# EOF\n");
    QVERIFY(open.isOpenMetrics);
    QCOMPARE(open.points.at(0).timestamp.value_or(0), 1796049420.5);
    QCOMPARE(open.families.at(0).unit, std::string("seconds"));
}

void TestPrometheusText::exemplarsAndCarriageReturnsAreNoPartOfTheValue()
{
    const MetricPage page
        = parsePrometheusText("# TYPE h histogram\r\n"
                              "h_bucket{le=\"0.1\"} 8 # {trace_id=\"a b\"} 0.067 1796049420.1\r\n"
                              "h_bucket{le=\"+Inf\"} 9 1796049420 # {} 3\r\n"
                              "\r\n# a remark\r\n# EOF\r\n");
    QVERIFY(page.problems.empty());
    QCOMPARE(page.points.size(), 2u);
    QCOMPARE(page.points[0].value, 8.0);
    QVERIFY(!page.points[0].timestamp);
    QCOMPARE(page.points[1].value, 9.0);
    QCOMPARE(page.families.at(0).type, MetricType::Histogram);
}

void TestPrometheusText::namesInQuotesAreRead()
{
    const MetricPage page
        = parsePrometheusText("# TYPE \"my.metric\" gauge\n{\"my.metric\", \"a.b\"=\"c\"} 2\n");
    QVERIFY(page.problems.empty());
    QCOMPARE(page.points.at(0).name, std::string("my.metric"));
    QCOMPARE(page.points.at(0).labels.at(0).first, std::string("a.b"));
    QVERIFY(page.family("my.metric") != nullptr);
}

void TestPrometheusText::aBadLineIsNamedAndTheRestIsRead_data()
{
    QTest::addColumn<QString>("line");
    QTest::addColumn<QString>("reason");
    QTest::newRow("no value") << "a"
                              << "no value";
    QTest::newRow("word for a number") << "a one"
                                       << "not a number: one";
    QTest::newRow("label without end") << "a{b=\"c} 1"
                                       << "no end";
    QTest::newRow("label without quotes") << "a{b=c} 1"
                                          << "not quoted";
    QTest::newRow("label without name") << "a{=\"c\"} 1"
                                        << "no name";
    QTest::newRow("label without value") << "a{b} 1"
                                         << "no '='";
    QTest::newRow("labels not closed") << "a{b=\"c\" 1"
                                       << "no ',' or '}'";
    QTest::newRow("label twice") << "a{b=\"c\",b=\"d\"} 1"
                                 << "twice";
    QTest::newRow("bad timestamp") << "a 1 now"
                                   << "not a timestamp";
    QTest::newRow("too many words") << "a 1 2 3"
                                    << "after the timestamp";
    QTest::newRow("HTML") << "<html><body>502 Bad Gateway</body></html>"
                          << "no metric name";
    QTest::newRow("digits first") << "9a 1"
                                  << "no metric name";
    QTest::newRow("type without name") << "# TYPE"
                                       << "no metric name";
}

void TestPrometheusText::aBadLineIsNamedAndTheRestIsRead()
{
    QFETCH(QString, line);
    QFETCH(QString, reason);
    const MetricPage page = parsePrometheusText("first 1\n" + line.toStdString() + "\nlast 2\n");
    QCOMPARE(page.points.size(), 2u);
    QCOMPARE(page.points[1].name, std::string("last"));
    QCOMPARE(page.problems.size(), 1u);
    QCOMPARE(page.problems[0].line, 2);
    QVERIFY2(QString::fromStdString(page.problems[0].message).contains(reason),
             page.problems[0].message.c_str());
}

void TestPrometheusText::aFamilyAnnouncedTwiceIsOneFamily()
{
    const MetricPage page = parsePrometheusText("# TYPE a gauge\na 1\n# HELP a later\n# TYPE a gauge\n");
    QCOMPARE(page.families.size(), 1u);
    QCOMPARE(page.families[0].help, std::string("later"));
}

void TestPrometheusText::problemsAreBounded()
{
    std::string text;
    for (int i = 0; i < 100000; ++i)
        text += "}\n";
    QCOMPARE(parsePrometheusText(text + "a 1").problems.size(), 100u);
    QCOMPARE(parsePrometheusText(text + "a 1").points.size(), 1u);
}

void TestPrometheusText::cutOffPagesNeverCrash()
{
    const std::string whole = tests::recordedBody("observed-ray/06-metrics-dashboard-44227.http");
    for (std::size_t i = 0; i < whole.size(); i += 7) {
        const MetricPage page = parsePrometheusText(std::string_view(whole).substr(0, i));
        QVERIFY(page.problems.size() <= 1); // only the line that was cut
    }
}

QTEST_APPLESS_MAIN(TestPrometheusText)
#include "tst_prometheus_text.moc"
