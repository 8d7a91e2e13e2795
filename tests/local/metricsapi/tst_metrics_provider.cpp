#include "cluster/local/metricsapi/metric_query.h"
#include "cluster/local/metricsapi/metrics_provider.h"

#include <QTest>
#include <map>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

namespace {

const std::string kWaiting = "prometheus.googleapis.com|vllm:num_requests_waiting|gauge";
const std::string kTokens = "prometheus.googleapis.com|vllm:generation_tokens_total|counter";

/// A cluster's pods and their series, by what a test puts there.
struct Surroundings
{
    std::vector<std::string> pods{"vllm-0"};
    std::map<std::string, std::string> types{{"vllm:num_requests_waiting", "gauge"},
                                             {"vllm:generation_tokens_total", "counter"},
                                             {"vllm:e2e_request_latency_seconds", "histogram"}};
    std::vector<MetricSample> samples;
    std::optional<Error> error; ///< of Google's side
    std::vector<std::string> queries;
    std::string lastProject, lastSelector;

    MetricsProvider provider()
    {
        MetricSources sources;
        sources.names = [this](const std::string &plural, const std::string &nameSpace,
                               const std::string &selector) -> ApiResult<std::vector<std::string>> {
            lastSelector = plural + "/" + nameSpace + "/" + selector;
            return pods;
        };
        sources.find = [this](const std::string &plural, const std::string &,
                              const std::string &name) -> ApiResult<void> {
            if (std::find(pods.begin(), pods.end(), name) != pods.end())
                return {};
            return apiFail(404, "NotFound", plural + " \"" + name + "\" not found");
        };
        sources.query = [this](const std::string &project,
                               const std::string &promql) -> Result<std::vector<MetricSample>> {
            lastProject = project;
            queries.push_back(promql);
            if (error)
                return tl::unexpected(*error);
            return samples;
        };
        sources.types
            = [this](const std::string &, const std::string &metric) -> Result<std::vector<std::string>> {
            if (error)
                return tl::unexpected(*error);
            const auto found = types.find(metric);
            return found == types.end() ? std::vector<std::string>() : std::vector{found->second};
        };
        sources.now = [] { return std::chrono::system_clock::time_point(std::chrono::seconds(1764600000)); };
        sources.log = [](const std::string &) {};
        return {{"my-project", "us-east5-b", "c1"}, std::move(sources)};
    }
};

CustomMetricQuestion allPods(const std::string &metric, const std::string &metricSelector = {})
{
    return {"v1beta2", "default", "pods", "*", metric, "app=vllm", metricSelector};
}

MetricSample ofPod(const std::string &pod, std::int64_t thousandths)
{
    return {{{"pod", pod}, {"namespace", "default"}, {"cluster", "c1"}}, thousandths};
}

QString shown(const ApiResult<json> &answer)
{
    if (!answer)
        return QString::number(answer.error().code) + ' ' + QString::fromStdString(answer.error().reason)
            + ": " + QString::fromStdString(answer.error().message);
    return QString::fromStdString(answer->dump());
}

QString shown(const json &value)
{
    return QString::fromStdString(value.dump());
}

} // namespace

class TestMetricsProvider : public QObject
{
    Q_OBJECT

private slots:
    void namesAreMonitoringsTypes_data();
    void namesAreMonitoringsTypes();
    void quantitiesAreCanonical_data();
    void quantitiesAreCanonical();
    void answersOfPrometheus();
    void aPodsMetricAsTheHpaAsksForIt();
    void theOlderVersionSaysTheSameInItsWords();
    void seriesOfAPodAreAddedUp();
    void aPodWithoutSeriesIsLeftOut();
    void aHundredPodsAtOnce();
    void ratesOfCounters();
    void whatTheAdapterRefuses_data();
    void whatTheAdapterRefuses();
    void googlesRefusalLooksLikeAMissingDescriptor();
    void aMetricThatIsNotScrapedAnyMore();
    void selectorsOfSeries();
    void nodesHaveMetricsOfTheRoot();
    void externalMetrics();
    void externalMetricsOfAnotherProject();
    void reducers();
};

void TestMetricsProvider::namesAreMonitoringsTypes_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("series");
    QTest::addColumn<QString>("family");
    QTest::addColumn<bool>("isRate");
    QTest::newRow("gauge") << "prometheus.googleapis.com|a:b|gauge"
                           << "a:b"
                           << "a:b" << false;
    QTest::newRow("counter") << "prometheus.googleapis.com|a_total|counter"
                             << "a_total"
                             << "a_total" << true;
    QTest::newRow("summary") << "prometheus.googleapis.com|s|summary"
                             << "s"
                             << "s" << false;
    QTest::newRow("count") << "prometheus.googleapis.com|s_count|summary"
                           << "s_count"
                           << "s" << true;
    QTest::newRow("sum") << "prometheus.googleapis.com|s_sum|summary:counter"
                         << "s_sum"
                         << "s" << true;
    QTest::newRow("untyped") << "prometheus.googleapis.com|u|unknown"
                             << "u"
                             << "u" << false;
    QTest::newRow("untyped rate") << "prometheus.googleapis.com|u|unknown:counter"
                                  << "u"
                                  << "u" << true;
    for (const char *name : {"prometheus.googleapis.com|a", "prometheus.googleapis.com|a|thing", "a",
                             "prometheus.googleapis.com||gauge", "kubernetes.io|a|gauge", "", "|"})
        QTest::newRow(*name ? name : "empty") << name << QString() << QString() << false;
}

void TestMetricsProvider::namesAreMonitoringsTypes()
{
    QFETCH(QString, name);
    QFETCH(QString, series);
    QFETCH(QString, family);
    QFETCH(bool, isRate);
    const auto metric = prometheusMetric(customMetricType(name.toStdString()));
    QCOMPARE(metric.has_value(), !series.isEmpty());
    if (!metric)
        return;
    QCOMPARE(QString::fromStdString(metric->name), series);
    QCOMPARE(QString::fromStdString(familyOf(*metric)), family);
    QCOMPARE(metric->kind == MetricKind::Cumulative, isRate);
}

void TestMetricsProvider::quantitiesAreCanonical_data()
{
    QTest::addColumn<qint64>("thousandths");
    QTest::addColumn<QString>("text");
    QTest::newRow("zero") << qint64(0) << "0";
    QTest::newRow("whole") << qint64(12000) << "12";
    QTest::newRow("half") << qint64(500) << "500m";
    QTest::newRow("more") << qint64(1500) << "1500m";
    QTest::newRow("thousands") << qint64(3000000) << "3k";
    QTest::newRow("not all of them") << qint64(3001000) << "3001";
    QTest::newRow("million") << qint64(2000000000) << "2M";
    QTest::newRow("negative") << qint64(-7000) << "-7";
}

void TestMetricsProvider::quantitiesAreCanonical()
{
    QFETCH(qint64, thousandths);
    QFETCH(QString, text);
    QCOMPARE(QString::fromStdString(quantityText(thousandths)), text);
}

void TestMetricsProvider::answersOfPrometheus()
{
    const auto samples = metricSamples(
        R"({"status":"success","data":{"resultType":"vector","result":[)"
        R"({"metric":{"pod":"a"},"value":[1764600000.1,"1.2345"]},{"metric":{"pod":"b"},"value":[1,"NaN"]},)"
        R"({"metric":{},"value":[1,"1e300"]}]}})");
    QVERIFY2(samples, samples ? "" : samples.error().message.c_str());
    QCOMPARE(samples->size(), 2U);
    QCOMPARE(samples->front().thousandths, 1234); // cut off, not rounded
    QCOMPARE(samples->back().thousandths, std::numeric_limits<std::int64_t>::max());
    for (
        const char *wrong :
        {"", "{}", "[]", R"({"status":"success"})", R"({"status":"error","error":"x"})",
         R"({"status":"success","data":{"resultType":"matrix","result":[]}})",
         R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":1},"value":[1,"1"]}]}})",
         R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,1]}]}})"}) {
        const auto none = metricSamples(wrong);
        QVERIFY2(!none && none.error().code == ErrorCode::DataLoss, wrong);
    }
    const auto types
        = metricTypes(R"({"status":"success","data":{"a":[{"type":"gauge","help":"","unit":""}]}})", "a");
    QVERIFY(types && *types == std::vector<std::string>{"gauge"});
    QCOMPARE(errorText(R"({"error":{"message":"no"}})"), std::string("no"));
    QCOMPARE(errorText(R"({"status":"error","error":"bad"})"), std::string("bad"));
    QCOMPARE(errorText("plain"), std::string("plain"));
}

void TestMetricsProvider::aPodsMetricAsTheHpaAsksForIt()
{
    Surroundings around;
    around.samples = {ofPod("vllm-0", 12000)};
    const auto answer = around.provider().custom(allPods(kWaiting));
    const json wanted{{"kind", "MetricValueList"},
                      {"apiVersion", "custom.metrics.k8s.io/v1beta2"},
                      {"metadata", json::object()},
                      {"items",
                       json::array({{{"describedObject",
                                      {{"kind", "Pod"},
                                       {"namespace", "default"},
                                       {"name", "vllm-0"},
                                       {"apiVersion", "/__internal"}}},
                                     {"metric", {{"name", kWaiting}, {"selector", nullptr}}},
                                     {"timestamp", "2025-12-01T14:40:00Z"},
                                     {"value", "12"}}})}};
    QCOMPARE(shown(answer), shown(wanted));
    QCOMPARE(around.lastSelector, std::string("pods/default/app=vllm"));
    QCOMPARE(around.queries.back(),
             std::string(R"(last_over_time({__name__="vllm:num_requests_waiting",project_id="my-project",)"
                         R"(location="us-east5-b",cluster="c1",namespace="default",pod="vllm-0"}[5m]))"));
}

void TestMetricsProvider::theOlderVersionSaysTheSameInItsWords()
{
    Surroundings around;
    around.samples = {ofPod("vllm-0", 500)};
    auto question = allPods(kWaiting, "metric.labels.model_name=m");
    question.version = "v1beta1";
    const auto answer = around.provider().custom(question);
    QVERIFY2(answer, qPrintable(shown(answer)));
    const json &item = answer->at("items").at(0);
    QCOMPARE(shown(item["metricName"]), shown(json(kWaiting)));
    QCOMPARE(shown(item["value"]), shown(json("500m")));
    QCOMPARE(shown(item["selector"]), shown(json{{"matchLabels", {{"metric.labels.model_name", "m"}}}}));
    QVERIFY(!item.contains("metric"));
    QVERIFY(around.queries.back().find(R"(model_name="m")") != std::string::npos);
}

void TestMetricsProvider::seriesOfAPodAreAddedUp()
{
    Surroundings around;
    around.samples = {ofPod("vllm-0", 3500), ofPod("vllm-0", 2000)};
    const auto answer = around.provider().custom(allPods(kWaiting));
    QVERIFY2(answer, qPrintable(shown(answer)));
    QCOMPARE(shown(answer->at("items").at(0).at("value")), shown(json("5500m")));
}

void TestMetricsProvider::aPodWithoutSeriesIsLeftOut()
{
    Surroundings around;
    around.pods = {"vllm-0", "vllm-1"};
    around.samples = {ofPod("vllm-1", 1000)};
    const auto some = around.provider().custom(allPods(kWaiting));
    QVERIFY2(some, qPrintable(shown(some)));
    QCOMPARE(some->at("items").size(), 1U);
    around.samples.clear();
    const auto none = around.provider().custom(allPods(kWaiting));
    QVERIFY2(none, qPrintable(shown(none)));
    QCOMPARE(shown(none->at("items")), shown(json::array()));
}

void TestMetricsProvider::aHundredPodsAtOnce()
{
    Surroundings around;
    around.pods.clear();
    for (int i = 0; i < 250; ++i)
        around.pods.push_back("p" + std::to_string(i));
    QVERIFY(around.provider().custom(allPods(kWaiting)));
    QCOMPARE(around.queries.size(), 3U);
    QVERIFY(around.queries[2].find("pod=~\"p200|p201|") != std::string::npos);
}

void TestMetricsProvider::ratesOfCounters()
{
    Surroundings around;
    around.samples = {ofPod("vllm-0", 33)};
    const auto answer = around.provider().custom(allPods(kTokens));
    QVERIFY2(answer, qPrintable(shown(answer)));
    QCOMPARE(shown(answer->at("items").at(0).at("value")), shown(json("33m")));
    QVERIFY(around.queries.back().starts_with("rate({__name__=\"vllm:generation_tokens_total\""));
    QVERIFY(
        around.queries.back().ends_with("[1m]) or rate({__name__=\"vllm:generation_tokens_total\","
                                        "project_id=\"my-project\",location=\"us-east5-b\",cluster=\"c1\","
                                        "namespace=\"default\",pod=\"vllm-0\"}[5m])"));
}

void TestMetricsProvider::whatTheAdapterRefuses_data()
{
    QTest::addColumn<QString>("nameSpace");
    QTest::addColumn<QString>("resource");
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("metric");
    QTest::addColumn<QString>("metricSelector");
    QTest::addColumn<QString>("words");
    const QString waiting = QString::fromStdString(kWaiting);
    const auto row = [&](const char *what, const char *nameSpace, const char *resource, const char *name,
                         const QString &metric, const char *metricSelector, const QString &words) {
        QTest::newRow(what) << nameSpace << resource << name << metric << metricSelector << words;
    };
    row("unknown metric", "default", "pods", "*", "prometheus.googleapis.com|none|gauge", "",
        "404 NotFound: the server could not find the descriptor for metric "
        "\"prometheus.googleapis.com/none/gauge\"");
    row("without a kind", "default", "pods", "*", "vllm:num_requests_waiting", "",
        "404 NotFound: the server could not find the descriptor for metric "
        "\"custom.googleapis.com/vllm:num_requests_waiting\"");
    row("of another kind", "default", "pods", "*",
        "prometheus.googleapis.com|vllm:num_requests_waiting|counter", "",
        "404 NotFound: the server could not find the descriptor for metric "
        "\"prometheus.googleapis.com/vllm:num_requests_waiting/counter\"");
    row("histogram", "default", "pods", "*",
        "prometheus.googleapis.com|vllm:e2e_request_latency_seconds|histogram", "",
        "400 BadRequest: distributions are not supported");
    row("no series of one pod", "default", "pods", "vllm-0", waiting, "",
        "404 NotFound: the server could not find the metric " + waiting + " for pods vllm-0");
    row("no such pod", "default", "pods", "x", waiting, "", "404 NotFound: pods \"x\" not found");
    row("deployment", "default", "deployments.apps", "*", waiting, "",
        "501 BadRequest: Operation: \"Get namespaced metric by selector for resource \\\"deployments\\\"\" "
        "is not "
        "implemented");
    row("namespace", "", "namespaces", "default", waiting, "",
        "501 BadRequest: Operation: \"Get root scoped metric by name for resource \\\"namespaces\\\"\" is "
        "not "
        "implemented");
    row("label of the resource", "default", "pods", "*", waiting, "resource.labels.cluster=c1",
        "400 BadRequest: Metric label: \"resource.labels.cluster\" is not allowed");
    row("absent label", "default", "pods", "*", waiting, "!metric.labels.a",
        "400 BadRequest: Label selector with operator DoesNotExist is not allowed");
    row("reducer", "default", "pods", "*", waiting, "reducer=SUM",
        "400 BadRequest: Metric label: \"Specified reducer is not supported: SUM\" is not allowed");
    row("reducer by set", "default", "pods", "*", waiting, "reducer in (REDUCE_SUM)",
        "400 BadRequest: Metric label: \"Reducer must use '=' or '==': You used in\" is not allowed");
}

void TestMetricsProvider::whatTheAdapterRefuses()
{
    QFETCH(QString, nameSpace);
    QFETCH(QString, resource);
    QFETCH(QString, name);
    QFETCH(QString, metric);
    QFETCH(QString, metricSelector);
    QFETCH(QString, words);
    Surroundings around;
    const auto answer = around.provider().custom({"v1beta2", nameSpace.toStdString(), resource.toStdString(),
                                                  name.toStdString(), metric.toStdString(), "",
                                                  metricSelector.toStdString()});
    QVERIFY2(!answer, qPrintable(shown(answer)));
    QCOMPARE(shown(answer), words);
}

void TestMetricsProvider::googlesRefusalLooksLikeAMissingDescriptor()
{
    Surroundings around;
    around.error
        = Error{ErrorCode::PermissionDenied,
                "Permission monitoring.metricDescriptors.list denied (or the resource may not exist)."};
    const auto answer = around.provider().custom(allPods(kWaiting));
    QCOMPARE(shown(answer),
             QString("404 NotFound: the server could not find the descriptor for metric "
                     "\"prometheus.googleapis.com/vllm:num_requests_waiting/gauge\""));
}

void TestMetricsProvider::aMetricThatIsNotScrapedAnyMore()
{
    Surroundings around;
    around.types.clear();
    around.samples = {ofPod("vllm-0", 1000)};
    QVERIFY(around.provider().custom(allPods(kWaiting)));
    QCOMPARE(
        around.queries.front(),
        std::string(
            R"(count(last_over_time({__name__="vllm:num_requests_waiting",project_id="my-project"}[1d])))"));
}

void TestMetricsProvider::selectorsOfSeries()
{
    Surroundings around;
    around.samples = {ofPod("vllm-0", 1000)};
    around.samples[0].labels["engine"] = "7";
    const std::string selector
        = "metric.labels.a in (x,y.z),metric.labels.b!=q,metric.labels.c,metric.labels.engine>6";
    const auto answer = around.provider().custom(allPods(kWaiting, selector));
    QVERIFY2(answer, qPrintable(shown(answer)));
    QCOMPARE(answer->at("items").size(), 1U);
    const std::string &query = around.queries.back();
    for (const char *part : {R"(a=~"x|y\\.z")", R"(b!~"q")", R"(c!="")"})
        QVERIFY2(query.find(part) != std::string::npos, query.c_str());
    const auto none = around.provider().custom(allPods(kWaiting, "metric.labels.engine>7"));
    QVERIFY2(none && none->at("items").empty(), qPrintable(shown(none)));
    const auto sum = around.provider().custom(allPods(kWaiting, "reducer=REDUCE_SUM"));
    QVERIFY2(sum && sum->at("items").empty(), qPrintable(shown(sum))); // what is left belongs to no pod
    const auto wrong = around.provider().custom(allPods(kWaiting, "a=b c"));
    QVERIFY2(!wrong && wrong.error().code == 500, qPrintable(shown(wrong)));
}

void TestMetricsProvider::nodesHaveMetricsOfTheRoot()
{
    Surroundings around;
    around.pods = {"n1"};
    around.types["node_load1"] = "gauge";
    around.samples = {{{{"node", "n1"}}, 250}};
    const auto answer = around.provider().custom(
        {"v1beta2", "", "nodes", "*", "prometheus.googleapis.com|node_load1|gauge", "", ""});
    QVERIFY2(answer, qPrintable(shown(answer)));
    const json object = answer->at("items").at(0).at("describedObject");
    QCOMPARE(shown(object), shown(json{{"apiVersion", "/__internal"}, {"kind", "Node"}, {"name", "n1"}}));
    QVERIFY(around.queries.back().find("namespace") == std::string::npos);
}

void TestMetricsProvider::externalMetrics()
{
    Surroundings around;
    around.samples = {{{{"__name__", "vllm:num_requests_waiting"},
                        {"pod", "vllm-0"},
                        {"namespace", "default"},
                        {"project_id", "my-project"}},
                       4000}};
    const auto answer = around.provider().external(
        {kWaiting, "resource.labels.namespace=default,resource.type=prometheus_target"});
    const json wanted{{"kind", "ExternalMetricValueList"},
                      {"apiVersion", "external.metrics.k8s.io/v1beta1"},
                      {"metadata", json::object()},
                      {"items",
                       json::array({{{"metricName", kWaiting},
                                     {"metricLabels",
                                      {{"metric.labels.pod", "vllm-0"},
                                       {"resource.labels.namespace", "default"},
                                       {"resource.labels.project_id", "my-project"},
                                       {"resource.type", "prometheus_target"}}},
                                     {"timestamp", "2025-12-01T14:40:00Z"},
                                     {"value", "4"}}})}};
    QCOMPARE(shown(answer), shown(wanted));
    const auto others = around.provider().external({kWaiting, "resource.type=k8s_pod"});
    QVERIFY2(others && others->at("items").empty(), qPrintable(shown(others)));
    const auto histogram = around.provider().external(
        {"prometheus.googleapis.com|vllm:e2e_request_latency_seconds|histogram", ""});
    QCOMPARE(shown(histogram), QString("400 BadRequest: Distributions are not supported"));
}

void TestMetricsProvider::externalMetricsOfAnotherProject()
{
    Surroundings around;
    QVERIFY(around.provider().external({kWaiting, "resource.labels.project_id=other"}));
    QCOMPARE(around.lastProject, std::string("other"));
    const auto several = around.provider().external({kWaiting, "resource.labels.project_id in (a,b)"});
    QCOMPARE(shown(several),
             QString("400 BadRequest: Metric label: \"Project selector must use '=' or '==': You "
                     "used in\" is not allowed"));
}

void TestMetricsProvider::reducers()
{
    Surroundings around;
    QVERIFY(around.provider().external({kWaiting, "reducer=REDUCE_SUM"}));
    QVERIFY2(around.queries.back().starts_with("sum(last_over_time("), around.queries.back().c_str());
    QCOMPARE(reducedQuery("REDUCE_PERCENTILE_95", "x"), std::string("quantile(0.95, x)"));
    const auto ofBooleans = around.provider().external({kWaiting, "reducer=REDUCE_COUNT_TRUE"});
    QVERIFY(!ofBooleans && ofBooleans.error().code == 400);
}

QTEST_GUILESS_MAIN(TestMetricsProvider)
#include "tst_metrics_provider.moc"
