// The autoscaler with the real scheduler and controllers.

#include "cluster/local/nodes/autoscaler.h"
#include "cluster/local/nodes/node_pools.h"

#include "cluster/kube/kube_client.h"
#include "tests/local/support/real_plane.h"

#include <QTest>
#include <atomic>
#include <nlohmann/json.hpp>

using namespace cluster;
using namespace cluster::local;
using Json = nlohmann::json;

namespace {

const NodesCluster testCluster{"my-project", "c1", "europe-west4", "1.34.1-gke.3084001", 10250, true};

std::optional<MachineShape> machine(const std::string &type)
{
    if (type == "ct6e-standard-4t")
        return MachineShape{180, 720};
    if (type == "e2-standard-4")
        return MachineShape{4, 16};
    return std::nullopt;
}

PoolSpec pool(const std::string &name, const std::string &machineType, int most)
{
    PoolSpec pool;
    pool.name = name;
    pool.machineType = machineType;
    pool.zones = {"europe-west4-a"};
    pool.isAutoscaled = true;
    pool.maxNodes = most;
    return pool;
}

PoolSpec slicePool()
{
    PoolSpec slice = pool("v6e", "ct6e-standard-4t", 4);
    slice.tpuTopology = "4x4";
    slice.tpuAccelerator = "tpu-v6e-slice";
    slice.tpuChipsPerNode = 4;
    slice.isMultiHost = true;
    return slice;
}

/// Straight to the nodes, without Google's side.
class DirectScaler : public PoolScaler
{
public:
    explicit DirectScaler(NodePools &pools) : m_pools(pools) {}

    std::vector<PoolSpec> pools() const override { return m_pools.pools(); }
    Status resizePool(const std::string &pool, int nodeCount) override
    {
        return m_pools.resizePool(pool, nodeCount);
    }
    Status createPool(const PoolSpec &pool) override
    {
        if (isOutOfStock && pool.provisioning == Provisioning::Spot)
            return fail(ErrorCode::ResourceExhausted, "GCE out of resources");
        return m_pools.createPool(pool);
    }
    Status deletePool(const std::string &pool) override { return m_pools.deletePool(pool); }

    std::atomic<bool> isOutOfStock = false;

private:
    NodePools &m_pools;
};

Json podOf(const std::string &name, const char *cpu)
{
    return Json{
        {"metadata", {{"name", name}}},
        {"spec",
         {{"containers", {{{"name", "c"}, {"image", "x"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}}};
}

Json tpuPod(const std::string &name)
{
    Json pod = podOf(name, "1");
    pod["spec"]["nodeSelector"] = {{"cloud.google.com/gke-tpu-accelerator", "tpu-v6e-slice"},
                                   {"cloud.google.com/gke-tpu-topology", "4x4"}};
    pod["spec"]["tolerations"] = {{{"key", "google.com/tpu"}, {"operator", "Exists"}}};
    pod["spec"]["containers"][0]["resources"]["limits"] = {{"google.com/tpu", "4"}};
    return pod;
}

} // namespace

class TestAutoscaler : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        m_plane = std::make_unique<tests::RealPlane>(true);
        if (!m_plane->missing().empty())
            QSKIP(m_plane->missing().c_str());
        QVERIFY2(m_plane->failure().empty(), m_plane->failure().c_str());
        NodePoolsOptions options;
        options.cluster = testCluster;
        options.machine = machine;
        options.addresses = [](int number) {
            return NodeAddresses{"10.128.0." + std::to_string(number + 3), {}};
        };
        options.drainTime = std::chrono::milliseconds(1000);
        m_pools = std::make_unique<NodePools>(client(), options);
        QVERIFY(m_pools->start({slicePool(), pool("plain", "e2-standard-4", 3)}).has_value());
        m_scaler = std::make_unique<DirectScaler>(*m_pools);
    }

    void init()
    {
        if (m_scaler)
            startAutoscaler(false);
    }

    void cleanup() { m_autoscaler.reset(); }

    void cleanupTestCase()
    {
        m_pools.reset();
        m_plane.reset();
    }

    void podsOfASliceMakeTheWholeSliceAppearAndItGoesWhenUnused()
    {
        for (int i = 0; i < 2; ++i)
            QVERIFY(make(tpuPod("tpu-" + std::to_string(i))));
        QTRY_VERIFY_WITH_TIMEOUT(isScheduled("tpu-0") && isScheduled("tpu-1"), 120000);
        QTRY_COMPARE_WITH_TIMEOUT(m_pools->nodes("v6e").size(), std::size_t{4}, 60000);
        const std::string said = eventOf("tpu-0", "TriggeredScaleUp");
        QVERIFY2(said.starts_with("pod triggered scale-up: [{https://www.googleapis.com/compute/v1/projects/"
                                  "my-project/zones/europe-west4-a/instanceGroups/gke-tpu-"),
                 said.c_str());
        QVERIFY2(said.ends_with("-grp 0->4 (max: 4)}]"), said.c_str());
        drop("tpu-0");
        drop("tpu-1");
        QTRY_VERIFY_WITH_TIMEOUT(m_pools->nodes("v6e").empty(), 120000);
        QCOMPARE(m_pools->pools().size(), std::size_t{2}); // the user's pool stays, without nodes
    }

    void onlyAsManyNodesAsPodsNeedComeAndTheBusyOneStays()
    {
        for (const char *name : {"a", "b", "c"})
            QVERIFY(make(podOf(name, "1800m")));
        QTRY_VERIFY_WITH_TIMEOUT(isScheduled("a") && isScheduled("b") && isScheduled("c"), 120000);
        QTRY_COMPARE_WITH_TIMEOUT(m_pools->nodes("plain").size(), std::size_t{2}, 60000);
        const std::string busy = nodeOf("c");
        for (const char *name : {"a", "b"}) {
            if (nodeOf(name) != busy)
                drop(name);
        }
        QTRY_COMPARE_WITH_TIMEOUT(m_pools->nodes("plain"), std::vector<std::string>{busy}, 120000);
        QVERIFY(isScheduled("c"));
        for (const char *name : {"a", "b", "c"})
            drop(name);
    }

    void whatNoPoolHelpsIsTold()
    {
        QVERIFY(make(podOf("huge", "64")));
        QTRY_VERIFY_WITH_TIMEOUT(!eventOf("huge", "NotTriggerScaleUp").empty(), 120000);
        const std::string said = eventOf("huge", "NotTriggerScaleUp");
        QVERIFY2(said.starts_with("pod didn't trigger scale-up: ")
                     && said.find("Insufficient cpu") != std::string::npos,
                 said.c_str());
        drop("huge");
    }

    void withoutAPoolOneIsMadeAndGoesAgain()
    {
        startAutoscaler(true);
        for (int i = 0; i < 5; ++i) // one more than a slice has hosts: the user's pool and one of their own
            QVERIFY(make(tpuPod("auto-" + std::to_string(i))));
        for (int i = 0; i < 5; ++i)
            QTRY_VERIFY_WITH_TIMEOUT(isScheduled("auto-" + std::to_string(i)), 120000);
        std::string made;
        for (const PoolSpec &spec : m_pools->pools()) {
            if (spec.isAutoCreated)
                made = spec.name;
        }
        QVERIFY2(made.starts_with("nap-ct6e-standard-4t-"), made.c_str());
        QTRY_COMPARE_WITH_TIMEOUT(m_pools->nodes(made).size(), std::size_t{4}, 60000);
        for (int i = 0; i < 5; ++i)
            drop("auto-" + std::to_string(i));
        QTRY_COMPARE_WITH_TIMEOUT(m_pools->pools().size(), std::size_t{2}, 120000);
    }

    void theNextRuleOfAClassIsTakenWhereTheFirstIsOutOfStock()
    {
        m_scaler->isOutOfStock = true;
        const Json computeClass = Json::parse(R"({"apiVersion":"cloud.google.com/v1","kind":"ComputeClass",
            "metadata":{"name":"thrifty"},"spec":{"nodePoolAutoCreation":{"enabled":true},
            "priorities":[{"machineFamily":"e2","spot":true},{"machineFamily":"e2"}]}})");
        Result<Json> made = fail(ErrorCode::Unknown, "not tried");
        for (int i = 0; i < 100 && !made; ++i) { // the definition is served a moment after it was made
            made = client().create(apiGroup("cloud.google.com", "v1", "computeclasses"), computeClass);
            if (!made)
                QTest::qWait(200);
        }
        QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
        Json pod = podOf("classy", "1");
        pod["spec"]["nodeSelector"] = {{"cloud.google.com/compute-class", "thrifty"}};
        QVERIFY(make(pod));
        QTRY_VERIFY_WITH_TIMEOUT(isScheduled("classy"), 120000);
        QVERIFY(!eventOf("classy", "FailedScaleUp").empty());
        const auto node = client().get(coreV1("nodes").named(nodeOf("classy")));
        QVERIFY(node->at("metadata").at("labels").at("cloud.google.com/compute-class") == "thrifty");
        QVERIFY(!node->at("metadata").at("labels").contains("cloud.google.com/gke-spot"));
        drop("classy");
        m_scaler->isOutOfStock = false;
    }

    void whatIsOutOfStockIsToldAndTheNextIsTried()
    {
        m_scaler->isOutOfStock = true;
        startAutoscaler(true);
        Json pod = podOf("spot", "1");
        pod["spec"]["nodeSelector"] = {{"cloud.google.com/gke-spot", "true"}};
        QVERIFY(make(pod));
        QTRY_VERIFY_WITH_TIMEOUT(!eventOf("spot", "FailedScaleUp").empty(), 120000);
        QVERIFY(eventOf("spot", "FailedScaleUp").find("GCE out of resources") != std::string::npos);
        m_scaler->isOutOfStock = false;
        QTRY_VERIFY_WITH_TIMEOUT(isScheduled("spot"), 120000); // after the back-off, with its toleration
        drop("spot");
    }

private:
    KubeClient &client() { return m_plane->client(); }

    void startAutoscaler(bool createsPools)
    {
        m_autoscaler.reset();
        AutoscalerOptions options;
        options.cluster = testCluster;
        options.machine = machine;
        options.createsPools = createsPools;
        options.offers = {{"e2-standard-4", {4, 16}, {}, 0, {}, 0, {"europe-west4-a"}},
                          {"ct6e-standard-4t", {180, 720}, {}, 0, "tpu-v6e-slice", 4, {"europe-west4-a"}}};
        options.scanInterval = std::chrono::milliseconds(500);
        options.unneededTime = std::chrono::milliseconds(4000);
        options.settleTime = std::chrono::milliseconds(15000);
        options.failureBackoff = std::chrono::milliseconds(2000);
        m_autoscaler = std::make_unique<Autoscaler>(client(), *m_scaler, options);
    }

    /// The namespace's service account comes a moment after the controllers.
    bool make(const Json &pod)
    {
        for (int i = 0; i < 100; ++i) {
            if (client().create(coreV1("pods", "default"), pod))
                return true;
            QTest::qWait(200);
        }
        return false;
    }

    void drop(const std::string &name)
    {
        KubeDeleteOptions options;
        options.gracePeriodSeconds = 0;
        (void)client().remove(coreV1("pods", "default", name), options);
    }

    std::string nodeOf(const std::string &name)
    {
        const auto pod = client().get(coreV1("pods", "default", name));
        return pod ? pod->at("spec").value("nodeName", std::string()) : std::string();
    }

    bool isScheduled(const std::string &name) { return !nodeOf(name).empty(); }

    std::string eventOf(const std::string &podName, const std::string &reason)
    {
        KubeListOptions list;
        list.fieldSelector = "involvedObject.name=" + podName + ",reason=" + reason;
        const auto events = client().list(coreV1("events", "default"), list);
        return events && !events->items.empty() ? events->items[0].value("message", std::string())
                                                : std::string();
    }

    std::unique_ptr<tests::RealPlane> m_plane;
    std::unique_ptr<NodePools> m_pools;
    std::unique_ptr<DirectScaler> m_scaler;
    std::unique_ptr<Autoscaler> m_autoscaler;
};

QTEST_GUILESS_MAIN(TestAutoscaler)
#include "tst_autoscaler.moc"
