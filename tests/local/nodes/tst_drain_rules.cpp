#include "cluster/local/nodes/drain_rules.h"

#include <QTest>
#include <nlohmann/json.hpp>

using namespace cluster::local;
using Json = nlohmann::json;

namespace {

ResidentPod resident(const char *metadata, const char *spec = "{}", const char *cpu = "1")
{
    Json pod{{"metadata", Json::parse(metadata)}, {"spec", Json::parse(spec)}};
    pod["spec"]["containers"] = {{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}};
    pod["spec"]["nodeName"] = "n1";
    pruneResidentPod(pod);
    return residentPod(pod);
}

constexpr const char *owned = R"({"namespace":"d","name":"p","labels":{"app":"a"},
    "ownerReferences":[{"kind":"ReplicaSet","name":"r","controller":true}]})";

ResidentNode node(const char *name, const char *cpu)
{
    Json object{{"metadata", {{"name", name}, {"labels", {{"cloud.google.com/gke-nodepool", "p"}}}}},
                {"status",
                 {{"allocatable", {{"cpu", cpu}, {"pods", "110"}}},
                  {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
    pruneResidentNode(object);
    return residentNode(object);
}

std::string why(const ResidentPod &pod, const std::vector<DisruptionBudget> &budgets = {})
{
    return drainObstacle({&pod}, budgets);
}

} // namespace

class TestDrainRules : public QObject
{
    Q_OBJECT

private slots:
    void onlyPodsThatComeBackMayBeMoved()
    {
        QCOMPARE(why(resident(owned)), std::string());
        QCOMPARE(why(resident(R"({"namespace":"d","name":"p"})")),
                 std::string("no.scale.down.node.pod.not.backed.by.controller"));
        QCOMPARE(why(resident(R"({"namespace":"d","name":"p",
                     "annotations":{"cluster-autoscaler.kubernetes.io/safe-to-evict":"true"}})")),
                 std::string());
        QCOMPARE(why(resident(R"({"namespace":"d","name":"p",
                     "annotations":{"cluster-autoscaler.kubernetes.io/safe-to-evict":"false"},
                     "ownerReferences":[{"kind":"Job","controller":true}]})")),
                 std::string("no.scale.down.node.pod.not.safe.to.evict.annotation"));
        // On GKE since 1.22 a pod with local storage is moved like others.
        QCOMPARE(why(resident(owned, R"({"volumes":[{"name":"v","emptyDir":{}}]})")), std::string());
    }

    void podsOfTheSystemNeedABudget()
    {
        const ResidentPod dns
            = resident(R"({"namespace":"kube-system","name":"dns","labels":{"k8s-app":"dns"},
            "ownerReferences":[{"kind":"ReplicaSet","controller":true}]})");
        QCOMPARE(why(dns), std::string("no.scale.down.node.pod.kube.system.unmovable"));
        DisruptionBudget budget = disruptionBudget(Json::parse(R"({"metadata":{"namespace":"kube-system"},
            "spec":{"selector":{"matchLabels":{"k8s-app":"dns"}}},"status":{"disruptionsAllowed":1}})"));
        QCOMPARE(why(dns, {budget}), std::string());
        budget.allowed = 0;
        QCOMPARE(why(dns, {budget}), std::string("no.scale.down.node.pod.not.enough.pdb"));
        const ResidentPod daemon = resident(R"({"namespace":"kube-system","name":"d",
            "ownerReferences":[{"kind":"DaemonSet","controller":true}]})");
        QCOMPARE(why(daemon), std::string());
        QVERIFY(daemon.isNobody());
    }

    void aBudgetMustAllowAllPodsOfTheNodeToGo()
    {
        const ResidentPod pod = resident(owned);
        const DisruptionBudget one = disruptionBudget(Json::parse(R"({"metadata":{"namespace":"d"},
            "spec":{"selector":{"matchExpressions":[{"key":"app","operator":"In","values":["a","b"]}]}},
            "status":{"disruptionsAllowed":1}})"));
        QCOMPARE(drainObstacle({&pod}, {one}), std::string());
        QCOMPARE(drainObstacle({&pod, &pod}, {one}), std::string("no.scale.down.node.pod.not.enough.pdb"));
        const DisruptionBudget elsewhere
            = disruptionBudget(Json::parse(R"({"metadata":{"namespace":"e"},"spec":{"selector":{}}})"));
        QCOMPARE(drainObstacle({&pod}, {elsewhere}), std::string());
        const DisruptionBudget everybody
            = disruptionBudget(Json::parse(R"({"metadata":{"namespace":"d"},"spec":{"selector":{}}})"));
        QVERIFY(!drainObstacle({&pod}, {everybody}).empty());
        const DisruptionBudget nobody
            = disruptionBudget(Json::parse(R"({"metadata":{"namespace":"d"},"spec":{}})"));
        QCOMPARE(drainObstacle({&pod}, {nobody}), std::string());
    }

    void acceleratorsAloneCountOnTheirNodes()
    {
        const ResidentPod pod = resident(owned, "{}", "3");
        ResidentNode plain = node("n1", "4");
        QCOMPARE(utilization(plain, {&pod}), 0.75);
        plain.shape.allocatable["google.com/tpu"] = 4;
        QCOMPARE(utilization(plain, {&pod}), 0.0);
        ResidentPod tpu = pod;
        tpu.needs.requests["google.com/tpu"] = 4;
        QCOMPARE(utilization(plain, {&tpu}), 1.0);
    }

    void podsMoveTogetherOrNotAtAll()
    {
        const std::vector<ResidentNode> nodes{node("n1", "4"), node("n2", "4"), node("n3", "1")};
        ResidentPod there = resident(owned, "{}", "2");
        there.node = "n2";
        const std::vector<ResidentPod> pods{resident(owned), resident(owned), resident(owned), there};
        SpareRoom spare(nodes, pods);
        const std::vector<const ResidentPod *> moving{&pods[0], &pods[1], &pods[2]};
        QVERIFY(spare.rehouse(nodes[0], moving)); // two beside the other, one on the small node
        QVERIFY(!spare.rehouse(nodes[0], {&pods[0]})); // and now all is full
        SpareRoom again(nodes, pods);
        again.close("n3");
        QVERIFY(!again.rehouse(nodes[0], moving));
        QVERIFY(again.rehouse(nodes[0], {&pods[0], &pods[1]})); // the failure has taken nothing
        SpareRoom picky(nodes, pods);
        QVERIFY(
            !picky.rehouse(nodes[0], moving, [](const ResidentNode &target) { return target.name == "n2"; }));
    }

    void whatBindsAPodToOthersOrToDevicesIsNotGuessedAt()
    {
        const std::vector<ResidentNode> nodes{node("n1", "4"), node("n2", "4")};
        const std::vector<ResidentPod> pods{
            resident(owned, R"({"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
                [{"topologyKey":"kubernetes.io/hostname"}]}}})"),
            resident(owned, R"({"resourceClaims":[{"name":"net"}]})")};
        SpareRoom spare(nodes, pods);
        QVERIFY(!spare.rehouse(nodes[0], {&pods[0]}));
        QVERIFY(!spare.rehouse(nodes[0], {&pods[1]}));
    }
};

QTEST_GUILESS_MAIN(TestDrainRules)
#include "tst_drain_rules.moc"
