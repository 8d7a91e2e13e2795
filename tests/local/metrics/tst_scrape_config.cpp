#include "cluster/local/metrics/monitoring_definitions.h"
#include "cluster/local/metrics/pod_targets.h"
#include "cluster/local/metrics/prometheus_program.h"
#include "cluster/local/metrics/scrape_config.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

namespace {

ScrapedCluster someCluster()
{
    return {"0123456789abcdef",       "my-project",   "us-east5-b",  "c1",
            "https://127.0.0.1:6443", "/keys/ca.crt", "/keys/token", "/targets"};
}

json monitoring(json spec)
{
    return {{"metadata", {{"name", "vllm"}, {"namespace", "ns"}}}, {"spec", std::move(spec)}};
}

json plain()
{
    return {{"selector", {{"matchLabels", {{"app", "vllm"}}}}},
            {"endpoints", json::array({{{"port", "http"}, {"interval", "15s"}}})}};
}

/// The value that a rule without sources puts into a label.
std::string setTo(const json &config, const std::string &label)
{
    for (const json &rule : config.at("relabel_configs")) {
        if (rule.value("target_label", "") == label && !rule.contains("source_labels"))
            return rule.value("replacement", "");
    }
    return {};
}

bool writesLabel(const json &config, const std::string &label)
{
    for (const json &rule : config.at("relabel_configs")) {
        if (rule.value("target_label", "") == label)
            return true;
    }
    return false;
}

QString shown(const Result<json> &configs)
{
    return configs ? QString() : QString::fromStdString(configs.error().message);
}

} // namespace

class TestScrapeConfig : public QObject
{
    Q_OBJECT

private slots:
    void labelsAreThoseOfManagedPrometheus();
    void podsAreChosenByTheSelector();
    void aPodHasATargetForEachPort();
    void aClusterPodMonitoringLooksEverywhere();
    void aNumberedPortHasNoContainer();
    void everyEndpointIsAJob();
    void protectedLabelsStayAsTheyAre();
    void whatIsNotDoneIsSaid();
    void wrongShapesAreRefused();
    void thePromtoolTakesAll();
    void definitionsNameTheirPlurals();
};

void TestScrapeConfig::labelsAreThoseOfManagedPrometheus()
{
    const auto configs = scrapeConfigsOf(someCluster(), monitoring(plain()));
    QVERIFY2(configs, qPrintable(shown(configs)));
    const json &config = configs->at(0);
    QCOMPARE(setTo(config, "project_id"), std::string("my-project"));
    QCOMPARE(setTo(config, "location"), std::string("us-east5-b"));
    QCOMPARE(setTo(config, "cluster"), std::string("c1"));
    QCOMPARE(setTo(config, "job"), std::string("vllm"));
    for (const char *label : {"namespace", "pod", "container", "instance", "top_level_controller_name",
                              "top_level_controller_type"})
        QVERIFY2(writesLabel(config, label), label);
    QVERIFY(!writesLabel(config, "node"));
    QVERIFY(config.at("scrape_timeout") == config.at("scrape_interval"));
}

void TestScrapeConfig::podsAreChosenByTheSelector()
{
    const json labels{{"app", "vllm"}, {"role", "a"}};
    const auto fits = [&](const char *selector) { return selectorFits(json::parse(selector), labels); };
    QVERIFY(fits(R"({})"));
    QVERIFY(fits(R"({"matchLabels":{"app":"vllm","role":"a"}})"));
    QVERIFY(!fits(R"({"matchLabels":{"app":"vllm","other":"a"}})"));
    QVERIFY(fits(R"({"matchExpressions":[{"key":"role","operator":"In","values":["a","b"]}]})"));
    QVERIFY(!fits(R"({"matchExpressions":[{"key":"role","operator":"In","values":["b"]}]})"));
    QVERIFY(fits(R"({"matchExpressions":[{"key":"x","operator":"NotIn","values":["a"]}]})"));
    QVERIFY(!fits(R"({"matchExpressions":[{"key":"role","operator":"NotIn","values":["a"]}]})"));
    QVERIFY(fits(R"({"matchExpressions":[{"key":"role","operator":"Exists"}]})"));
    QVERIFY(!fits(R"({"matchExpressions":[{"key":"role","operator":"DoesNotExist"}]})"));
    QVERIFY(!fits(R"({"matchExpressions":[{"key":"role","operator":"Like"}]})"));
}

void TestScrapeConfig::aPodHasATargetForEachPort()
{
    json pod = json::parse(
        R"({"metadata":{"name":"web-0","namespace":"ns","labels":{"a/b":"c"},"managedFields":[7],
        "ownerReferences":[{"kind":"ReplicaSet","name":"web-5f6","controller":true}]},
        "spec":{"nodeName":"n1","containers":[
            {"name":"one","image":"i","ports":[{"name":"http","containerPort":80},{"containerPort":81}]},
            {"name":"two"}],"initContainers":[{"name":"first"}]},
        "status":{"podIP":"10.4.0.7","phase":"Running","conditions":[]}})");
    prunePod(pod);
    QVERIFY(!pod["metadata"].contains("managedFields") && !pod["status"].contains("conditions"));
    const json groups = podTargets(pod);
    QCOMPARE(groups.size(), std::size_t{4});
    QVERIFY(groups[0]["targets"] == json::array({"10.4.0.7:80"}));
    const json &labels = groups[0]["labels"];
    for (const auto &[label, value] :
         {std::pair{"pod_name", "web-0"}, std::pair{"pod_container_name", "one"},
          std::pair{"pod_container_port_name", "http"}, std::pair{"pod_label_a_b", "c"},
          std::pair{"pod_labelpresent_a_b", "true"}, std::pair{"pod_controller_name", "web-5f6"},
          std::pair{"pod_node_name", "n1"}, std::pair{"pod_phase", "Running"}, std::pair{"namespace", "ns"}})
        QVERIFY2(labels.value(std::string("__meta_kubernetes_") + label, "") == value, label);
    QVERIFY(groups[1]["targets"] == json::array({"10.4.0.7:81"}));
    QVERIFY(groups[2]["targets"] == json::array({"10.4.0.7"}));
    pod["status"].erase("podIP");
    QVERIFY(podTargets(pod).empty());
    for (const char *odd :
         {"[]", "{}", R"({"metadata":7,"spec":[],"status":"x"})",
          R"({"status":{"podIP":"1"},"spec":{"containers":[7,{"ports":[{"containerPort":"x"}]}]}})"}) {
        json wrong = json::parse(odd);
        podTargets(wrong); // and nothing is thrown
        prunePod(wrong);
        QVERIFY(podTargets(wrong).size() <= 2);
    }
}

void TestScrapeConfig::aClusterPodMonitoringLooksEverywhere()
{
    json object = monitoring(plain());
    object["metadata"].erase("namespace");
    const auto configs = scrapeConfigsOf(someCluster(), object);
    QVERIFY2(configs, qPrintable(shown(configs)));
    QCOMPARE(configs->at(0).at("file_sd_configs").at(0).at("files").at(0).get<std::string>(),
             std::string("/targets/0123456789abcdef_ClusterPodMonitoring_vllm.json"));
    QVERIFY(writesLabel(configs->at(0), "namespace"));
}

void TestScrapeConfig::aNumberedPortHasNoContainer()
{
    json spec = plain();
    spec["endpoints"][0]["port"] = 8000;
    const auto configs = scrapeConfigsOf(someCluster(), monitoring(spec));
    QVERIFY2(configs, qPrintable(shown(configs)));
    const json rules = configs->at(0).at("relabel_configs");
    const json dropped{{"action", "labeldrop"}, {"regex", "container"}};
    QVERIFY(std::find(rules.begin(), rules.end(), dropped) != rules.end());
}

void TestScrapeConfig::everyEndpointIsAJob()
{
    json spec = plain();
    spec["endpoints"].push_back({{"port", "http"}, {"interval", "15s"}, {"path", "/other"}});
    const auto configs = scrapeConfigsOf(someCluster(), monitoring(spec));
    QVERIFY2(configs, qPrintable(shown(configs)));
    QCOMPARE(configs->size(), std::size_t{2});
    QVERIFY(configs->at(0).at("job_name") != configs->at(1).at("job_name"));
}

void TestScrapeConfig::protectedLabelsStayAsTheyAre()
{
    json spec = plain();
    spec["targetLabels"] = {{"fromPod", json::array({{{"from", "tier"}, {"to", "cluster"}}})}};
    const auto mapped = scrapeConfigsOf(someCluster(), monitoring(spec));
    QVERIFY(!mapped);
    QVERIFY2(shown(mapped).contains("protected label \"cluster\""), qPrintable(shown(mapped)));
    spec = plain();
    spec["endpoints"][0]["metricRelabeling"] = json::array({{{"targetLabel", "job"}, {"replacement", "x"}}});
    QVERIFY(!scrapeConfigsOf(someCluster(), monitoring(spec)));
}

void TestScrapeConfig::whatIsNotDoneIsSaid()
{
    json spec = plain();
    spec["endpoints"][0]["basicAuth"] = {{"username", "u"}};
    const auto configs = scrapeConfigsOf(someCluster(), monitoring(spec));
    QVERIFY(!configs);
    QCOMPARE(configs.error().code, ErrorCode::Unimplemented);
    QVERIFY2(shown(configs).contains("index 0") && shown(configs).contains("basicAuth"),
             qPrintable(shown(configs)));
}

void TestScrapeConfig::wrongShapesAreRefused()
{
    for (const char *text :
         {R"({})", R"({"endpoints":7})", R"({"endpoints":[7]})", R"({"endpoints":[{"port":0}]})",
          R"({"endpoints":[{"port":"p"}],"selector":{"matchLabels":{"a":7}}})",
          R"({"endpoints":[{"port":"p"}],"selector":{"matchExpressions":[{"key":"k","operator":"Like"}]}})"})
        QVERIFY2(!scrapeConfigsOf(someCluster(), monitoring(json::parse(text))), text);
}

void TestScrapeConfig::thePromtoolTakesAll()
{
    const auto prometheus = findPrometheus({});
    if (!prometheus)
        QSKIP(prometheus.error().message.c_str());
    const auto promtool = prometheus->parent_path() / "promtool";
    if (!exists(promtool))
        QSKIP("there is no promtool beside Prometheus");
    json spec = plain();
    spec["endpoints"].push_back(
        {{"port", 8000},
         {"interval", "30s"},
         {"timeout", "5s"},
         {"scheme", "https"},
         {"path", "/m"},
         {"params", {{"a", {"b", "c"}}}},
         {"tls", {{"insecureSkipVerify", true}, {"serverName", "s"}}},
         {"metricRelabeling",
          json::array({{{"sourceLabels", {"a", "b"}},
                        {"targetLabel", "c"},
                        {"separator", "-"},
                        {"regex", "(x|y)"},
                        {"replacement", "$1"}},
                       {{"action", "hashmod"}, {"sourceLabels", {"a"}}, {"modulus", 7}, {"targetLabel", "h"}},
                       {{"action", "labeldrop"}, {"regex", "q.*"}}})}});
    spec["limits"] = {{"samples", 1000}, {"labels", 30}, {"labelNameLength", 100}, {"labelValueLength", 200}};
    spec["targetLabels"] = {{"metadata", {"pod", "container", "node", "top_level_controller_name"}},
                            {"fromPod", json::array({{{"from", "lws.x-k8s.io/name"}, {"to", "lws"}}})}};
    QTemporaryDir folder;
    ScrapedCluster cluster = someCluster();
    cluster.caFile = folder.filePath("ca.crt").toStdString();
    cluster.tokenFile = folder.filePath("token").toStdString();
    cluster.targetsFolder = folder.path().toStdString();
    for (const auto &file : {cluster.caFile, cluster.tokenFile}) { // promtool looks whether they are there
        QFile touched(QString::fromStdString(file.string()));
        QVERIFY(touched.open(QIODevice::WriteOnly));
    }
    auto configs = scrapeConfigsOf(cluster, monitoring(spec));
    QVERIFY2(configs, qPrintable(shown(configs)));
    const json kubelets = kubeletScrapeConfigs(cluster);
    configs->insert(configs->end(), kubelets.begin(), kubelets.end());
    QFile file(folder.filePath("prometheus.yml"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(QByteArray::fromStdString(json{{"scrape_configs", *configs}}.dump()));
    file.close();
    QProcess tool;
    tool.setProcessChannelMode(QProcess::MergedChannels);
    tool.start(QString::fromStdString(promtool.string()), {"check", "config", file.fileName()});
    QVERIFY(tool.waitForFinished());
    QVERIFY2(tool.exitCode() == 0, tool.readAll().constData());
}

void TestScrapeConfig::definitionsNameTheirPlurals()
{
    for (const json &definition : monitoringDefinitions()) {
        QCOMPARE(definition["metadata"]["name"].get<std::string>(),
                 definition["spec"]["names"]["plural"].get<std::string>() + ".monitoring.googleapis.com");
        const json &schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        const json &endpoints = schema["properties"]["spec"]["properties"]["endpoints"];
        QVERIFY(endpoints["items"]["required"] == json({"interval", "port"}));
    }
}

QTEST_GUILESS_MAIN(TestScrapeConfig)
#include "tst_scrape_config.moc"
