#include "cluster/kube/discovery.h"
#include "cluster/local/admission/admission_review.h"
#include "cluster/local/tpuwebhook/pod_mutation.h"
#include "cluster/local/tpuwebhook/ray_cluster_rules.h"
#include "cluster/local/tpuwebhook/tpu_demand.h"

#include <QFile>
#include <QTest>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

namespace {

/// Pods as the real webhook left them, recorded with KubeRay 1.5 and 1.7.
std::vector<json> recordedPods(const QString &name)
{
    QFile file(QStringLiteral(SLIPWAY_TEST_DATA "/tpuwebhook/") + name + QStringLiteral(".yaml"));
    if (!file.open(QFile::ReadOnly))
        return {};
    return parseManifests(file.readAll().toStdString()).value_or(std::vector<json>{});
}

bool isTheWebhooks(const json &variable)
{
    static const std::set<std::string> names{"TPU_WORKER_HOSTNAMES", "TPU_WORKER_ID", "TPU_NAME",
                                             "TPU_DEVICE_PLUGIN_HOST_IP", "TPU_DEVICE_PLUGIN_ADDR"};
    return names.contains(variable.value("name", ""));
}

/// As KubeRay sent it.
json withoutTheWebhook(json pod)
{
    pod["metadata"]["labels"].erase("replicaIndex");
    for (const char *key : {"hostname", "subdomain", "affinity"})
        pod["spec"].erase(key);
    for (json &container : pod["spec"]["containers"]) {
        json kept = json::array();
        std::ranges::copy_if(container["env"], std::back_inserter(kept),
                             [](const json &variable) { return !isTheWebhooks(variable); });
        container["env"] = std::move(kept);
    }
    return pod;
}

/// The API server fills in the version of a field's path.
json asStored(json pod)
{
    for (json &container : pod["spec"]["containers"]) {
        for (json &variable : container["env"]) {
            if (variable.contains("valueFrom") && variable["valueFrom"].contains("fieldRef"))
                variable["valueFrom"]["fieldRef"]["apiVersion"] = "v1";
        }
    }
    return pod;
}

std::string workerId(const json &pod)
{
    for (const json &variable : pod["spec"]["containers"][0]["env"]) {
        if (variable["name"] == "TPU_WORKER_ID")
            return variable["value"];
    }
    return {};
}

PodsOfGroup nobody()
{
    return [](const RayGroup &) { return Result<std::vector<json>>(std::vector<json>{}); };
}

json worker(const std::string &topology, int chips, const std::string &accelerator = "tpu-v6e-slice",
            int containers = 1)
{
    json pod{{"metadata", {{"labels", {{"ray.io/cluster", "c"}, {"ray.io/group", "g"}}}}},
             {"spec",
              {{"nodeSelector",
                {{"cloud.google.com/gke-tpu-topology", topology},
                 {"cloud.google.com/gke-tpu-accelerator", accelerator}}},
               {"containers", json::array()}}}};
    for (int i = 0; i < containers; ++i)
        pod["spec"]["containers"].push_back(
            {{"name", "c" + std::to_string(i)},
             {"resources", {{"limits", {{"google.com/tpu", std::to_string(chips)}}}}}});
    return pod;
}

json admitted(const json &pod, const PodsOfGroup &others = nobody())
{
    const auto patch = tpuPodPatch(pod, "default", others);
    return patch ? pod.patch(*patch) : json(patch.error().message);
}

/// The last of a name, as in a container.
QString variable(const json &pod, const std::string &name, std::size_t container = 0)
{
    QString value;
    for (const json &candidate : pod["spec"]["containers"][container].value("env", json::array())) {
        if (candidate["name"] == name)
            value = QString::fromStdString(candidate.value("value", "from a field"));
    }
    return value;
}

} // namespace

class TestTpuWebhook : public QObject
{
    Q_OBJECT

private slots:
    void podsAreLeftAsTheRealWebhookLeavesThem_data();
    void podsAreLeftAsTheRealWebhookLeavesThem();
    void placesAreFoundAsTheRealWebhookFindsThem_data();
    void placesAreFoundAsTheRealWebhookFindsThem();
    void groupsThatContradictThemselvesAreRefused();
    void podsWithoutChipsAreLeftAlone();
    void podsThatCanNotBePlacedAreRefused_data();
    void podsThatCanNotBePlacedAreRefused();
    void eachContainerOfIronwoodIsAWorker();
    void slicesOfOneJobKnowTheirCoordinator();
    void whatTheUserSetStays();
    void hostsFollowFromTheTopology_data();
    void hostsFollowFromTheTopology();
    void rayClustersAreJudged_data();
    void rayClustersAreJudged();
    void reviewsThatAreNoneAreRefused();
};

void TestTpuWebhook::podsAreLeftAsTheRealWebhookLeavesThem_data()
{
    QTest::addColumn<int>("count");
    QTest::newRow("kuberay-1.7-one-slice") << 4;
    QTest::newRow("kuberay-1.7-several-slices") << 8;
    QTest::newRow("kuberay-1.7-own-affinity") << 4;
    QTest::newRow("kuberay-1.7-long-names") << 3;
    QTest::newRow("kuberay-1.5-one-slice") << 4; // one after the other, by the pods that are there
}

void TestTpuWebhook::podsAreLeftAsTheRealWebhookLeavesThem()
{
    QFETCH(int, count);
    std::vector<json> pods = recordedPods(QString::fromLatin1(QTest::currentDataTag()));
    QCOMPARE(int(pods.size()), count);
    std::ranges::sort(pods, {}, workerId); // the order in which they came
    std::vector<json> before;
    for (const json &recorded : pods) {
        const json asked = withoutTheWebhook(recorded);
        QVERIFY(asked != recorded);
        const json made = asStored(admitted(asked, [&](const RayGroup &group) -> Result<std::vector<json>> {
            if (group.cluster != asked["metadata"]["labels"]["ray.io/cluster"])
                return fail(ErrorCode::Internal, "another cluster was asked for");
            return before;
        }));
        if (made != recorded)
            qWarning("%s", json::diff(recorded, made).dump(1).c_str());
        QVERIFY(made == recorded);
        before.push_back(made);
    }
}

void TestTpuWebhook::placesAreFoundAsTheRealWebhookFindsThem_data()
{
    using Places = std::vector<SlicePlace>;
    QTest::addColumn<Places>("there");
    QTest::addColumn<int>("hosts");
    QTest::addColumn<SlicePlace>("next");
    QTest::newRow("the first") << Places{} << 4 << SlicePlace{0, 0};
    QTest::newRow("fills a slice") << Places{{0, 0}, {0, 1}} << 4 << SlicePlace{0, 2};
    QTest::newRow("fills a hole") << Places{{0, 0}, {0, 2}, {1, 0}} << 3 << SlicePlace{0, 1};
    QTest::newRow("the next slice") << Places{{0, 0}, {0, 1}} << 2 << SlicePlace{1, 0};
    QTest::newRow("the lowest that lacks one") << Places{{1, 0}, {0, 0}, {0, 1}} << 2 << SlicePlace{1, 1};
    // Recorded: of two single hosts the first goes; its successor shares the name of the second.
    QTest::newRow("a single host's successor") << Places{{1, 0}} << 1 << SlicePlace{1, 1};
}

void TestTpuWebhook::placesAreFoundAsTheRealWebhookFindsThem()
{
    QFETCH(std::vector<SlicePlace>, there);
    QFETCH(int, hosts);
    QFETCH(SlicePlace, next);
    const auto place = placeAmong(there, hosts);
    QVERIFY(place);
    QCOMPARE(place->replica, next.replica);
    QCOMPARE(place->host, next.host);
}

void TestTpuWebhook::groupsThatContradictThemselvesAreRefused()
{
    const json first = admitted(worker("4x4", 4));
    json without = first;
    without["spec"]["containers"][0]["env"] = json::array();
    const auto refusal = [](std::vector<json> pods) {
        return admitted(worker("4x4", 4),
                        [pods](const RayGroup &) { return Result<std::vector<json>>(pods); });
    };
    QVERIFY(refusal({first, first})
            == json("Identical TPU_WORKER_ID assigned to multiple TPU workers in slice"));
    QVERIFY(refusal({without}) == json("existing TPU worker missing TPU_WORKER_ID"));
    without["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"; // it ends: its place is free
    QCOMPARE(variable(refusal({without}), "TPU_WORKER_ID"), "0");
}

void TestTpuWebhook::podsWithoutChipsAreLeftAlone()
{
    json head = worker("4x4", 0);
    QVERIFY(tpuPodPatch(head, "default", nobody()).value() == json::array());
    head["spec"].erase("containers");
    QVERIFY(tpuPodPatch(head, "default", nobody()).value() == json::array());
    QVERIFY(tpuPodPatch(json("no pod"), "default", nobody()).value() == json::array());
}

void TestTpuWebhook::podsThatCanNotBePlacedAreRefused_data()
{
    QTest::addColumn<QString>("pointer");
    QTest::addColumn<QString>("words");
    QTest::newRow("cluster") << "/metadata/labels/ray.io~1cluster"
                             << "Ray Pod created by KubeRay missing RayCluster label";
    QTest::newRow("group") << "/metadata/labels/ray.io~1group"
                           << "Ray Pod created by KubeRay missing Group label";
    QTest::newRow("topology") << "/spec/nodeSelector/cloud.google.com~1gke-tpu-topology"
                              << "Ray Pod created by KubeRay missing TPU topology nodeSelector";
}

void TestTpuWebhook::podsThatCanNotBePlacedAreRefused()
{
    QFETCH(QString, pointer);
    QFETCH(QString, words);
    const json remove = json::array({{{"op", "remove"}, {"path", pointer.toStdString()}}});
    const auto refused = tpuPodPatch(worker("4x4", 4).patch(remove), "default", nobody());
    QVERIFY(!refused);
    QCOMPARE(QString::fromStdString(refused.error().message), words);
}

void TestTpuWebhook::eachContainerOfIronwoodIsAWorker()
{
    json pod = worker("2x2x2", 2, "tpu7x", 2); // two hosts, two containers of two chips each
    pod["metadata"]["labels"]["ray.io/worker-group-replica-index"] = "3";
    pod["metadata"]["labels"]["ray.io/replica-host-index"] = "1";
    pod["spec"]["containers"][1]["env"] = json::array({{{"name", "TPU_WORKER_ID"}, {"value", "1"}}});
    const json made = admitted(pod);
    QCOMPARE(variable(made, "TPU_WORKER_ID", 0), "2");
    QCOMPARE(variable(made, "TPU_WORKER_ID", 1), "3"); // a template can only number its containers
    QCOMPARE(variable(made, "TPU_PROCESS_PORT", 0), "8471");
    QCOMPARE(variable(made, "TPU_PROCESS_PORT", 1), "8472");
    QCOMPARE(variable(made, "TPU_PROCESS_ADDRESSES", 1),
             "g-3-0.c-headless:8471,g-3-0.c-headless:8472,g-3-1.c-headless:8471,g-3-1.c-headless:8472");
}

void TestTpuWebhook::slicesOfOneJobKnowTheirCoordinator()
{
    json pod = worker("4x4", 4);
    pod["metadata"]["labels"]["ray.io/worker-group-replica-index"] = "1";
    pod["metadata"]["labels"]["ray.io/replica-host-index"] = "2";
    QVERIFY(variable(admitted(pod), "MEGASCALE_SLICE_ID").isEmpty());
    pod["spec"]["containers"][0]["env"] = json::array({{{"name", "MEGASCALE_NUM_SLICES"}, {"value", "2"}}});
    const json made = admitted(pod);
    QCOMPARE(variable(made, "MEGASCALE_SLICE_ID"), "1");
    QCOMPARE(variable(made, "MEGASCALE_COORDINATOR_ADDRESS"), "g-0-0.c-headless");
    QCOMPARE(variable(made, "MEGASCALE_PORT"), "8081");
}

void TestTpuWebhook::whatTheUserSetStays()
{
    json pod = worker("4x4", 4);
    pod["spec"]["containers"][0]["env"]
        = json::array({{{"name", "TPU_NAME"}, {"value", "mine"}},
                       {{"name", "TPU_WORKER_ID"}, {"value", "7"}},
                       {{"name", "TPU_WORKER_HOSTNAMES"}, {"value", "localhost"}},
                       {{"name", "TPU_DEVICE_PLUGIN_ADDR"}, {"value", ""}}});
    const json made = admitted(pod);
    QCOMPARE(variable(made, "TPU_NAME"), "mine");
    QCOMPARE(variable(made, "TPU_WORKER_ID"), "7");
    QVERIFY(variable(made, "TPU_WORKER_HOSTNAMES").startsWith("g-0-0.c-headless,"));
    QCOMPARE(variable(made, "TPU_DEVICE_PLUGIN_ADDR"), "$(TPU_DEVICE_PLUGIN_HOST_IP):2112");
}

void TestTpuWebhook::hostsFollowFromTheTopology_data()
{
    QTest::addColumn<QString>("topology");
    QTest::addColumn<int>("chips");
    QTest::addColumn<int>("hosts"); // 0: refused
    QTest::newRow("4x4, 4 chips") << "4x4" << 4 << 4;
    QTest::newRow("one host") << "2x2x1" << 4 << 1;
    QTest::newRow("less than a host") << "1x1" << 4 << 1;
    QTest::newRow("a pod of v5p") << "16x16x24" << 4 << 1536;
    for (const char *wrong : {"", "x", "4x", "x4", "4x4x", "4x-4", "0x4", "4 x 4", "4*4", "99999999999x2",
                              "1048576x1048576x1048576"})
        QTest::newRow(wrong) << wrong << 4 << 0;
    QTest::newRow("no chips") << "4x4" << 0 << 0;
}

void TestTpuWebhook::hostsFollowFromTheTopology()
{
    QFETCH(QString, topology);
    QFETCH(int, chips);
    QFETCH(int, hosts);
    QCOMPARE(int(hostsOfSlice(topology.toStdString(), chips).value_or(0)), hosts);
}

void TestTpuWebhook::rayClustersAreJudged_data()
{
    QTest::addColumn<int>("hosts");
    QTest::addColumn<QString>("topology");
    QTest::addColumn<int>("chips");
    QTest::addColumn<QString>("words"); // empty: admitted
    QTest::newRow("right") << 4 << "4x4" << 4 << "";
    QTest::newRow("wrong") << 2 << "4x4" << 4
                           << "Number of workers in worker group not equal to specified topology";
    QTest::newRow("more chips on fewer hosts") << 2 << "4x4" << 8 << "";
    QTest::newRow("no chips, not judged") << 9 << "4x4" << 0 << "";
    QTest::newRow("no hosts") << 0 << "4x4" << 4 << "workerGroupSpec NumOfHosts not set";
    QTest::newRow("no topology") << 4 << "" << 4 << "TPU topology not specified";
}

void TestTpuWebhook::rayClustersAreJudged()
{
    QFETCH(int, hosts);
    QFETCH(QString, topology);
    QFETCH(int, chips);
    QFETCH(QString, words);
    const json group{{"numOfHosts", hosts},
                     {"template", {{"spec", worker(topology.toStdString(), chips)["spec"]}}}};
    const json cluster{{"spec", {{"workerGroupSpecs", json::array({group})}}}};
    const Status judged = checkTpuGroups(cluster);
    QCOMPARE(judged ? QString() : QString::fromStdString(judged.error().message), words);
    QVERIFY(judged || (judged.error().code == ErrorCode::PermissionDenied) == words.startsWith("Number"));
    QVERIFY(checkTpuGroups(json("no cluster")));
}

void TestTpuWebhook::reviewsThatAreNoneAreRefused()
{
    for (const char *body :
         {"", "[]", "{}", R"({"request": {"uid": "1"}})", R"({"request": {"object": {}}})", "{\"request"})
        QVERIFY2(!parseAdmissionReview(body), body);
    const auto question
        = parseAdmissionReview(R"({"request": {"uid": "1", "namespace": "n", "object": {"a": 1}}})");
    QVERIFY(question);
    QCOMPARE(question->nameSpace, std::string("n"));
    const json answer = admittedWith("1", json::array({{{"op", "add"}, {"path", "/a"}, {"value", 2}}}));
    QVERIFY(answer["response"]["patchType"] == json("JSONPatch"));
    QCOMPARE(QByteArray::fromBase64(answer["response"]["patch"].get<std::string>().c_str()),
             QByteArray(R"([{"op":"add","path":"/a","value":2}])"));
    QVERIFY(!admittedWith("1", json::array())["response"].contains("patch"));
    QVERIFY(!refusedWith("1", "no")["response"]["allowed"].get<bool>());
}

QTEST_GUILESS_MAIN(TestTpuWebhook)
#include "tst_tpu_webhook.moc"
