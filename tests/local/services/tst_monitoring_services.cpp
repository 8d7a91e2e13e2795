#include "cluster/local/gcp/monitoring_service.h"
#include "tests/local/services/service_stand.h"

#include <QTest>
#include <algorithm>

using namespace cluster;
using namespace cluster::local;
using namespace std::chrono_literals;
using nlohmann::json;
using tests::Answer;
using tests::ServiceStand;

namespace {

const std::string kApi = "/v1/projects/my-project/location/global/prometheus/api/v1/";

/// Two series with a sample each minute.
class FewSamples : public MetricSource
{
public:
    explicit FewSamples(MetricTime now)
    {
        for (const char *pod : {"a", "b"}) {
            MetricSeries series{{{"__name__", "vllm:num_requests_running"}, {"pod", pod}}, {}};
            for (int minute = 10; minute >= 0; --minute)
                series.points.emplace_back(now - std::chrono::minutes(minute), 10.0 - minute);
            m_series.push_back(std::move(series));
        }
    }
    std::vector<MetricSeries> select(const std::vector<LabelMatcher> &matchers, MetricTime from,
                                     MetricTime to) const override
    {
        std::vector<MetricSeries> found;
        for (MetricSeries series : m_series) {
            const auto fits = [&](const LabelMatcher &matcher) {
                const auto label = series.labels.find(matcher.label);
                return matcher.fits(label == series.labels.end() ? std::string() : label->second);
            };
            if (!std::all_of(matchers.begin(), matchers.end(), fits))
                continue;
            std::erase_if(series.points,
                          [&](const auto &point) { return point.first < from || point.first > to; });
            found.push_back(std::move(series));
        }
        return found;
    }

private:
    std::vector<MetricSeries> m_series;
};

class Stand : public ServiceStand
{
public:
    Stand() : samples(context().now()), service(context()) { context().metrics = &samples; }
    Answer ask(const std::string &what) { return call(service, "GET " + kApi + what); }

    FewSamples samples;
    MonitoringService service;
};

} // namespace

class TestMonitoringServices : public QObject
{
    Q_OBJECT

private slots:
    void selectorsAreRead();
    void whatIsNoSelectorIsRefused_data();
    void whatIsNoSelectorIsRefused();
    void durationsAreRead();
    void anInstantHasTheLatestSample();
    void rangesHaveSamplesAtEachStep();
    void labelsAndSeriesAreListed();
    void formsArePosted();
    void functionsNeedAPrometheus();
    void aPrometheusThatIsGoneIsNamed();
};

void TestMonitoringServices::selectorsAreRead()
{
    const auto selector
        = parseSelector("vllm:x{pod=\"a\\\"b\", ns!='c', job=~`v.*` , z!~\"q\",}[1m30s] offset 1h ");
    QVERIFY2(selector.has_value(), selector ? "" : selector.error().message.c_str());
    SAME(selector->matchers.size(), 5);
    SAME(selector->matchers[0].value, "vllm:x");
    SAME(selector->matchers[1].value, "a\"b");
    QVERIFY(selector->matchers[3].fits("vllm") && !selector->matchers[3].fits("avllm"));
    QVERIFY(!selector->matchers[4].fits("q"));
    SAME(selector->range.count(), 90000);
    SAME(selector->offset.count(), 3600000);
    SAME(parseSelector("{\"a.b\"}")->matchers[0].value, "a.b");
}

void TestMonitoringServices::whatIsNoSelectorIsRefused_data()
{
    QTest::addColumn<QString>("query");
    for (const char *query : {"",
                              "   ",
                              "a{",
                              "a{b}",
                              "a{b=}",
                              "a{b=\"c}",
                              "a{b=\"\\q\"}",
                              "a{b=~\"(\"}",
                              "a{=\"c\"}",
                              "a[",
                              "a[5]x",
                              "a[-5m]",
                              "a[0s]",
                              "rate(a[5m])",
                              "a+b",
                              "1",
                              "a offset x",
                              "a{b=\"c\"d=\"e\"}",
                              "sum by (x) (a)",
                              "{}",
                              "\"",
                              "a}"})
        QTest::newRow(query) << QString(query);
    QTest::newRow("long") << QString(5000, 'a');
}

void TestMonitoringServices::whatIsNoSelectorIsRefused()
{
    QFETCH(QString, query);
    QVERIFY(!parseSelector(query.toStdString()));
}

void TestMonitoringServices::durationsAreRead()
{
    SAME(parsePrometheusDuration("1h30m")->count(), 5400000);
    SAME(parsePrometheusDuration("15")->count(), 15000);
    SAME(parsePrometheusDuration("0.5")->count(), 500);
    for (const char *bad : {"", "m", "1x", "-1s", "1m1", "nan", "inf", "99999999999y"})
        QVERIFY2(!parsePrometheusDuration(bad), bad);
}

void TestMonitoringServices::anInstantHasTheLatestSample()
{
    Stand stand;
    const Answer answer = stand.ask("query?query=" + urlEncoded("vllm:num_requests_running{pod=\"a\"}"));
    SAME(answer.body["status"], "success");
    SAME(answer.body["data"]["resultType"], "vector");
    SAME(answer.body["data"]["result"].size(), 1);
    SAME(answer.body["data"]["result"][0]["metric"]["pod"], "a");
    SAME(answer.body["data"]["result"][0]["value"][1], "10");
    stand.pass(6min); // nothing is that old and still stands for now
    SAME(stand.ask("query?query=vllm:num_requests_running").body["data"]["result"].size(), 0);
    const Answer range = stand.ask("query?query=" + urlEncoded("vllm:num_requests_running{pod=\"b\"}[8m]"));
    SAME(range.body["data"]["resultType"], "matrix");
    SAME(range.body["data"]["result"][0]["values"].size(), 3);
}

void TestMonitoringServices::rangesHaveSamplesAtEachStep()
{
    Stand stand;
    const auto now
        = std::chrono::duration_cast<std::chrono::seconds>(stand.context().now().time_since_epoch());
    const std::string span
        = "&start=" + std::to_string(now.count() - 300) + "&end=" + std::to_string(now.count());
    const Answer answer = stand.ask("query_range?query=vllm:num_requests_running&step=1m" + span);
    SAME(answer.body["data"]["result"].size(), 2);
    SAME(answer.body["data"]["result"][0]["values"].size(), 6);
    SAME(answer.body["data"]["result"][0]["values"][0][1], "5");
    SAME(stand.ask("query_range?query=a&step=0" + span).status, 400);
    SAME(stand.ask("query_range?query=a&step=1ms" + span).status, 400);
}

void TestMonitoringServices::labelsAndSeriesAreListed()
{
    Stand stand;
    SAME(stand.ask("labels").body["data"], json::array({"__name__", "pod"}));
    SAME(stand.ask("label/pod/values").body["data"], json::array({"a", "b"}));
    const Answer series = stand.ask("series?match[]=" + urlEncoded("{pod=~\"b|c\"}"));
    SAME(series.body["data"].size(), 1);
    SAME(stand.ask("nothing").status, 422);
}

void TestMonitoringServices::formsArePosted()
{
    Stand stand;
    const Answer answer
        = stand.call(stand.service, "POST " + kApi + "query", json("query=vllm%3Anum_requests_running&x"));
    SAME(answer.body["data"]["result"].size(), 2);
}

void TestMonitoringServices::functionsNeedAPrometheus()
{
    Stand stand;
    const Answer answer = stand.ask("query?query=" + urlEncoded("rate(a[5m])"));
    SAME(answer.status, 422);
    SAME(answer.body["errorType"], "execution");
    QVERIFY(answer.body["error"].get<std::string>().find("install one") != std::string::npos);
    SAME(stand.ask("query?query=" + urlEncoded("a{")).status, 400);
    SAME(stand.call(stand.service, "GET /v1/projects/strange/location/global/prometheus/api/v1/query").status,
         403);
}

void TestMonitoringServices::aPrometheusThatIsGoneIsNamed()
{
    Stand stand;
    stand.context().prometheusUrl = "http://127.0.0.1:1"; // nobody listens there
    const Answer answer = stand.ask("query?query=a");
    SAME(answer.status, 422);
    QVERIFY(answer.body["error"].get<std::string>().find("Prometheus does not answer") != std::string::npos);
}

QTEST_APPLESS_MAIN(TestMonitoringServices)
#include "tst_monitoring_services.moc"
