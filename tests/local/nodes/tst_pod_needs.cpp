#include "cluster/local/nodes/auto_pools.h"
#include "cluster/local/nodes/pod_needs.h"

#include <QTest>
#include <nlohmann/json.hpp>

using namespace cluster::local;
using Json = nlohmann::json;

namespace {

Json container(const std::string &cpu, const std::string &memory)
{
    return Json{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}, {"memory", memory}}}}}};
}

Json pod(Json spec)
{
    return Json{{"metadata", {{"name", "p"}, {"namespace", "d"}, {"uid", "u"}}}, {"spec", std::move(spec)}};
}

PodNeeds tpuPod()
{
    return podNeeds(pod(Json::parse(R"({
        "nodeSelector":{"cloud.google.com/gke-tpu-accelerator":"tpu-v6e-slice","cloud.google.com/gke-tpu-topology":"4x4"},
        "tolerations":[{"key":"google.com/tpu","operator":"Exists","effect":"NoSchedule"}],
        "containers":[{"name":"c","resources":{"limits":{"google.com/tpu":"4"}}}]})")));
}

std::vector<MachineOffer> offers()
{
    const std::vector<std::string> zones{"europe-west4-a", "europe-west4-b"};
    return {{"e2-standard-16", {16, 64}, {}, 0, {}, 0, zones},
            {"e2-standard-4", {4, 16}, {}, 0, {}, 0, zones},
            {"n2-standard-2", {2, 8}, {}, 0, {}, 0, zones},
            {"g2-standard-4", {4, 16}, "nvidia-l4", 1, {}, 0, zones},
            {"g2-standard-24", {24, 96}, "nvidia-l4", 2, {}, 0, zones},
            {"ct6e-standard-4t", {180, 720}, {}, 0, "tpu-v6e-slice", 4, {"europe-west4-a"}},
            {"ct6e-standard-8t", {180, 1440}, {}, 0, "tpu-v6e-slice", 8, {"europe-west4-a"}}};
}

const NodesCluster testCluster{"p", "c", "europe-west4", "1.34.1-gke.1", 10250};

NodeTemplate e2()
{
    PoolSpec pool;
    pool.name = "e2";
    pool.machineType = "e2-standard-4";
    pool.zones = {"europe-west4-a"};
    pool.labels = {{"disk", "7"}};
    return templateOf(testCluster, pool, {4, 16});
}

} // namespace

class TestPodNeeds : public QObject
{
    Q_OBJECT

private slots:
    void quantitiesAreRead()
    {
        QCOMPARE(parseQuantity("100m").value(), 0.1);
        QCOMPARE(parseQuantity("1.5Gi").value(), 1.5 * 1024 * 1024 * 1024);
        QCOMPARE(parseQuantity("2e3").value(), 2000.0);
        QCOMPARE(parseQuantity("4").value(), 4.0);
        QVERIFY(!parseQuantity("four"));
        QVERIFY(!parseQuantity("4 Gi"));
    }

    void sidecarsAddUpAndInitContainersPeak()
    {
        Json sidecar = container("500m", "1Gi");
        sidecar["restartPolicy"] = "Always";
        const PodNeeds needs = podNeeds(pod(
            {{"initContainers", {sidecar, container("3", "1Gi")}}, {"containers", {container("1", "2Gi")}}}));
        QCOMPARE(needs.amount("cpu"), 3.5);
        QCOMPARE(needs.amount("memory"), 3.0 * 1024 * 1024 * 1024);
        QCOMPARE(needs.amount("pods"), 1.0);
    }

    void selectorsAffinityTaintsAndRoomDecide()
    {
        const auto why = [](const Json &spec) { return misfit(podNeeds(pod(spec)), e2()); };
        const auto with = [](const char *key, Json value) {
            Json spec{{"containers", {container("1", "1Gi")}}};
            spec[key] = std::move(value);
            return spec;
        };
        const auto affinity = [&](Json expression) {
            return with("affinity",
                        {{"nodeAffinity",
                          {{"requiredDuringSchedulingIgnoredDuringExecution",
                            {{"nodeSelectorTerms",
                              {{{"matchExpressions", Json::array({std::move(expression)})}}}}}}}}});
        };
        QCOMPARE(why({{"containers", {container("1", "1Gi")}}}), std::string());
        QCOMPARE(why({{"containers", {container("3950m", "1Gi")}}}), std::string("Insufficient cpu"));
        QCOMPARE(why(with("nodeSelector", {{"disk", "7"}})), std::string());
        QVERIFY(why(with("nodeSelector", {{"disk", "8"}})).starts_with("node(s) didn't match"));
        QCOMPARE(why(affinity({{"key", "disk"}, {"operator", "In"}, {"values", {"6", "7"}}})), std::string());
        QCOMPARE(why(affinity({{"key", "disk"}, {"operator", "Gt"}, {"values", {"6"}}})), std::string());
        QVERIFY(!why(affinity({{"key", "disk"}, {"operator", "NotIn"}, {"values", {"7"}}})).empty());
        QVERIFY(!why(affinity({{"key", "nope"}, {"operator", "Exists"}})).empty());
        QCOMPARE(why(affinity({{"key", "nope"}, {"operator", "DoesNotExist"}})), std::string());
        NodeTemplate tainted = e2();
        tainted.taints = {{"google.com/tpu", "present", "NoSchedule"}};
        QVERIFY(misfit(podNeeds(pod({{"containers", {container("1", "1Gi")}}})), tainted)
                    .find("untolerated taint")
                != std::string::npos);
        PodNeeds tolerant = podNeeds(pod(with("tolerations", {{{"operator", "Exists"}}})));
        QCOMPARE(misfit(tolerant, tainted), std::string());
    }

    void podsArePackedUpToALimit()
    {
        const PodNeeds big = podNeeds(pod({{"containers", {container("3", "1Gi")}}}));
        const PodNeeds small = podNeeds(pod({{"containers", {container("900m", "1Gi")}}}));
        const Packing both = packed({&big, &big, &small}, e2(), 10);
        QCOMPARE(both.nodes.size(), std::size_t{2});
        QCOMPARE(both.placed.size(), std::size_t{3});
        const Packing one = packed({&big, &big, &small}, e2(), 1);
        QCOMPARE(one.nodes.size(), std::size_t{1});
        QCOMPARE(one.placed, (std::vector<const PodNeeds *>{&big, &small}));
    }

    void aPodThatSelectsASliceGetsItsMachine()
    {
        const PodNeeds needs = tpuPod();
        const auto wishes = wishesOf(needs, nullptr);
        QCOMPARE(wishes.size(), std::size_t{1});
        const auto pool = poolFor(wishes[0], needs, testCluster, offers());
        QVERIFY(pool.has_value());
        QCOMPARE(pool->machineType, std::string("ct6e-standard-4t"));
        QVERIFY(pool->isMultiHost);
        QCOMPARE(pool->maxNodes, 4);
        QCOMPARE(pool->zones, std::vector<std::string>{"europe-west4-a"});
    }

    void otherPodsGetTheSmallestMachineWithRoom()
    {
        const auto machineFor = [](const Json &spec) {
            const PodNeeds needs = podNeeds(pod(spec));
            const auto pool = poolFor(wishesOf(needs, nullptr).at(0), needs, testCluster, offers());
            return pool ? pool->machineType : "none";
        };
        QCOMPARE(machineFor({{"containers", {container("1", "1Gi")}}}), std::string("e2-standard-4"));
        QCOMPARE(machineFor({{"containers", {container("8", "1Gi")}}}), std::string("e2-standard-16"));
        QCOMPARE(machineFor({{"containers", {container("80", "1Gi")}}}), std::string("none"));
        Json gpu{{"nodeSelector", {{"cloud.google.com/gke-accelerator", "nvidia-l4"}}},
                 {"tolerations", {{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}}}},
                 {"containers", {{{"name", "c"}, {"resources", {{"limits", {{"nvidia.com/gpu", "2"}}}}}}}}};
        QCOMPARE(machineFor(gpu), std::string("g2-standard-24"));
        gpu["nodeSelector"]["cloud.google.com/gke-accelerator"] = "nvidia-b200";
        QCOMPARE(machineFor(gpu), std::string("none"));
    }

    void theRulesOfAClassAreTriedInOrder()
    {
        Json spec{{"nodeSelector", {{"cloud.google.com/compute-class", "cheap"}}},
                  {"containers", {container("1", "1Gi")}}};
        const PodNeeds needs = podNeeds(pod(spec));
        Json computeClass{
            {"spec",
             {{"priorities", {{{"machineFamily", "n2"}, {"spot", true}}, {{"machineFamily", "e2"}}}},
              {"nodePoolAutoCreation", {{"enabled", true}}},
              {"whenUnsatisfiable", "DoNotScaleUp"}}}};
        QVERIFY(canCreatePools(computeClass));
        const auto wishes = wishesOf(needs, computeClass);
        QCOMPARE(wishes.size(), std::size_t{2});
        QVERIFY(wishes[0].key != wishes[1].key);
        const auto first = poolFor(wishes[0], needs, testCluster, offers());
        QVERIFY(first.has_value());
        QCOMPARE(first->machineType, std::string("n2-standard-2"));
        QVERIFY(first->provisioning == Provisioning::Spot);
        QCOMPARE(first->computeClass, std::string("cheap"));
        QCOMPARE(poolFor(wishes[1], needs, testCluster, offers())->machineType, std::string("e2-standard-4"));
        QCOMPARE(missingTolerations(needs).at(0).key, std::string("cloud.google.com/compute-class"));
        computeClass["spec"]["whenUnsatisfiable"] = "ScaleUpAnyway";
        QCOMPARE(wishesOf(needs, computeClass).size(), std::size_t{3});
        QVERIFY(!canCreatePools(Json{{"spec", {{"priorities", Json::array()}}}}));
    }

    void onlyWhatTheSchedulerRefusedIsUnschedulable()
    {
        Json object = pod({{"containers", {container("1", "1Gi")}}});
        QVERIFY(!isUnschedulable(object));
        object["status"]["conditions"]
            = {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}}};
        QVERIFY(isUnschedulable(object));
        object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
        QVERIFY(!isUnschedulable(object));
    }
};

QTEST_GUILESS_MAIN(TestPodNeeds)
#include "tst_pod_needs.moc"
