// Node pools against the real apiserver, controller manager and scheduler.

#include "cluster/local/nodes/node_pools.h"

#include "cluster/kube/kube_client.h"
#include "tests/local/support/real_plane.h"

#include <QTest>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

using namespace cluster;
using namespace cluster::local;
using Json = nlohmann::json;

namespace {

PoolSpec slicePool()
{
    PoolSpec pool;
    pool.name = "v6e";
    pool.machineType = "ct6e-standard-4t";
    pool.zones = {"europe-west4-a"};
    pool.nodeCount = 4;
    pool.tpuTopology = "4x4";
    pool.tpuAccelerator = "tpu-v6e-slice";
    pool.tpuChipsPerNode = 4;
    pool.isMultiHost = true;
    return pool;
}

PoolSpec plainPool(const std::string &name, int count)
{
    PoolSpec pool;
    pool.name = name;
    pool.machineType = "e2-standard-4";
    pool.zones = {"europe-west4-a", "europe-west4-b"};
    pool.nodeCount = count;
    return pool;
}

/// What the machines' player was told.
struct Told
{
    std::mutex mutex;
    std::set<std::string> up;
    int shutdowns = 0;

    std::set<std::string> upNow()
    {
        const std::lock_guard lock(mutex);
        return up;
    }
};

NodePoolsOptions optionsFor(Told &told)
{
    NodePoolsOptions options;
    options.cluster = {"my-project", "c1", "europe-west4", "1.34.1-gke.3084001", 10250};
    options.addresses = [](int number) {
        return NodeAddresses{
            "10.128." + std::to_string(number / 250) + '.' + std::to_string(number % 250 + 3), {}};
    };
    options.machine = [](const std::string &type) -> std::optional<MachineShape> {
        if (type == "ct6e-standard-4t")
            return MachineShape{180, 720};
        if (type == "e2-standard-4")
            return MachineShape{4, 16};
        return std::nullopt;
    };
    options.listeners.onAdded = [&told](const std::string &node) {
        const std::lock_guard lock(told.mutex);
        told.up.insert(node);
    };
    options.listeners.onGone = [&told](const std::string &node) {
        const std::lock_guard lock(told.mutex);
        told.up.erase(node);
    };
    options.listeners.onShutdown = [&told](const std::string &, std::chrono::seconds) {
        const std::lock_guard lock(told.mutex);
        ++told.shutdowns;
    };
    options.repairTime = std::chrono::milliseconds(500);
    options.drainTime = std::chrono::milliseconds(3000);
    return options;
}

std::string readiness(const Json &node)
{
    for (const Json &condition : node["status"]["conditions"]) {
        if (condition["type"] == "Ready")
            return condition["status"].get<std::string>();
    }
    return "none";
}

std::set<std::string> taintKeys(const Json &node)
{
    std::set<std::string> keys;
    for (const Json &taint : node["spec"].value("taints", Json::array()))
        keys.insert(taint["key"].get<std::string>());
    return keys;
}

} // namespace

class TestNodePools : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        m_plane = std::make_unique<tests::RealPlane>(true);
        if (!m_plane->missing().empty())
            QSKIP(m_plane->missing().c_str());
        QVERIFY2(m_plane->failure().empty(), m_plane->failure().c_str());
        m_pools = std::make_unique<NodePools>(client(), optionsFor(m_told));
        QVERIFY(m_pools->start({}).has_value());
    }

    void cleanupTestCase()
    {
        m_pools.reset();
        m_plane.reset();
    }

    void aSliceAppearsReadyAndAsAWhole()
    {
        const Status made = m_pools->createPool(slicePool());
        QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
        const std::vector<Json> nodes = nodesOf("v6e");
        QCOMPARE(nodes.size(), std::size_t{4});
        for (const Json &node : nodes) {
            QCOMPARE(readiness(node), std::string("True"));
            QVERIFY(!taintKeys(node).contains("node.kubernetes.io/not-ready"));
            QVERIFY(taintKeys(node).contains("google.com/tpu"));
            QVERIFY(leaseOf(node["metadata"]["name"]).has_value());
        }
        QCOMPARE(m_told.upNow().size(), std::size_t{4});
        QVERIFY(m_pools->createPool(slicePool()).has_value()); // once more changes nothing
        QCOMPARE(nodesOf("v6e").size(), std::size_t{4});
    }

    void aSliceIsNeverInPart()
    {
        QCOMPARE(m_pools->resizePool("v6e", 3).error().code, ErrorCode::FailedPrecondition);
        PoolSpec other = slicePool();
        other.machineType = "e2-standard-4";
        QCOMPARE(m_pools->updatePool(other).error().code, ErrorCode::FailedPrecondition);
        PoolSpec unknown = plainPool("x", 1);
        unknown.machineType = "warp-9";
        QCOMPARE(m_pools->createPool(unknown).error().code, ErrorCode::InvalidArgument);
        QCOMPARE(m_pools->resizePool("nobody", 1).error().code, ErrorCode::NotFound);
    }

    void theSchedulerUsesTheSlice()
    {
        Json pod = Json::parse(R"({"metadata":{"name":"tpu"},"spec":{
            "nodeSelector":{"cloud.google.com/gke-tpu-topology":"4x4","cloud.google.com/gke-tpu-accelerator":"tpu-v6e-slice"},
            "tolerations":[{"key":"google.com/tpu","operator":"Exists"}],
            "containers":[{"name":"c","image":"x","resources":{"limits":{"google.com/tpu":"4"}}}]}})");
        QVERIFY(makePod(pod));
        QTRY_VERIFY_WITH_TIMEOUT(!nodeOfPod("tpu").empty(), 60000);
        QVERIFY(client().remove(coreV1("pods", "default", "tpu"), forced()).has_value());
    }

    void aPoolGrowsAndShrinksByItsIdleNodes()
    {
        QVERIFY(m_pools->createPool(plainPool("plain", 3)).has_value());
        const std::vector<Json> nodes = nodesOf("plain");
        QCOMPARE(nodes.size(), std::size_t{3});
        std::set<std::string> zones;
        for (const Json &node : nodes)
            zones.insert(node["metadata"]["labels"]["topology.kubernetes.io/zone"].get<std::string>());
        QCOMPARE(zones.size(), std::size_t{2});

        const auto busy = m_pools->nodes("plain").back();
        QVERIFY(
            makePod(Json{{"metadata", {{"name", "work"}}},
                         {"spec", {{"nodeName", busy}, {"containers", {{{"name", "c"}, {"image", "x"}}}}}}}));
        QVERIFY(m_pools->resizePool("plain", 1).has_value());
        QCOMPARE(m_pools->nodes("plain"), std::vector<std::string>{busy});
        QCOMPARE(nodeOfPod("work"), busy);
        QVERIFY(client().remove(coreV1("pods", "default", "work"), forced()).has_value());

        PoolSpec labelled = plainPool("plain", 2);
        labelled.labels = {{"team", "a"}};
        labelled.taints = {{"dedicated", "a", "NoSchedule"}};
        QVERIFY(m_pools->updatePool(labelled).has_value());
        for (const Json &node : nodesOf("plain")) {
            QVERIFY(node["metadata"]["labels"]["team"] == "a");
            QVERIFY(taintKeys(node).contains("dedicated"));
        }
        QVERIFY(m_pools->updatePool(plainPool("plain", 2)).has_value());
        for (const Json &node : nodesOf("plain")) {
            QVERIFY(!node["metadata"]["labels"].contains("team"));
            QVERIFY(!taintKeys(node).contains("dedicated"));
        }
    }

    void aStartMakesTheServersNodesThoseOfThePools()
    {
        m_pools.reset();
        const auto slice = nodesOf("v6e");
        const auto lost = slice[0]["metadata"]["name"].get<std::string>();
        QVERIFY(client().remove(coreV1("nodes").named(lost)).has_value());
        m_told.up.clear();
        m_pools = std::make_unique<NodePools>(client(), optionsFor(m_told));
        // "plain" is no longer among them.
        const Status started = m_pools->start({slicePool()});
        QVERIFY2(started.has_value(), started ? "" : started.error().message.c_str());
        QCOMPARE(nodesOf("plain").size(), std::size_t{0});
        const auto now = nodesOf("v6e");
        QCOMPARE(now.size(), std::size_t{4});
        for (std::size_t i = 0; i < 4; ++i) // the same names: the tables and dashboards of users stay right
            QVERIFY(now[i]["metadata"]["name"] == slice[i]["metadata"]["name"]);
        QCOMPARE(m_told.upNow().size(), std::size_t{4});
    }

    void aPreemptedHostOfASliceComesBackWithAllTheOthers()
    {
        const auto before = nodesOf("v6e");
        const auto name = before[1]["metadata"]["name"].get<std::string>();
        QVERIFY(m_pools->preempt(name, std::chrono::seconds(1)).has_value());
        QCOMPARE(m_pools->preempt(name).error().code, ErrorCode::NotFound); // it is on its way
        QTRY_VERIFY_WITH_TIMEOUT(allAreNew(before) && m_told.upNow().size() == 4, 120000);
        QCOMPARE(m_told.shutdowns, 1);
        QVERIFY(said(name, "Shutdown") && said(name, "NodeNotReady") && said(name, "DeletingNode"));
    }

    void maintenanceIsAnnouncedHappensWhenTheUserAsksForItAndEnds()
    {
        const auto name = nodesOf("v6e")[0]["metadata"]["name"].get<std::string>();
        QVERIFY(
            m_pools->announceMaintenance(name, std::chrono::hours(1), std::chrono::seconds(2)).has_value());
        const ResourcePath path = coreV1("nodes").named(name);
        const auto labels = [&] { return client().get(path)->at("metadata").at("labels"); };
        QVERIFY(labels().contains("cloud.google.com/scheduled-maintenance-time"));
        const Json now{{"metadata", {{"labels", {{"cloud.google.com/perform-maintenance", "true"}}}}}};
        QVERIFY(client().patch(path, PatchType::Merge, now).has_value());
        QTRY_VERIFY_WITH_TIMEOUT(said(name, "HostMaintenance") && said(name, "Starting"), 60000);
        QTRY_VERIFY_WITH_TIMEOUT(said(name, "NodeReady") && readiness(*client().get(path)) == "True", 60000);
        QTRY_COMPARE_WITH_TIMEOUT(taintKeys(*client().get(path)), std::set<std::string>{"google.com/tpu"},
                                  60000);
        for (const char *gone :
             {"active-node-maintenance", "perform-maintenance", "scheduled-maintenance-time"})
            QVERIFY(!labels().contains(std::string("cloud.google.com/") + gone));
    }

    void aFullDiskIsACondition()
    {
        const auto name = nodesOf("v6e")[0]["metadata"]["name"].get<std::string>();
        const auto hasTaint = [&] {
            return taintKeys(*client().get(coreV1("nodes").named(name)))
                .contains("node.kubernetes.io/disk-pressure");
        };
        QVERIFY(m_pools->setDiskPressure(name, true).has_value());
        QTRY_VERIFY_WITH_TIMEOUT(hasTaint(), 60000);
        QVERIFY(m_pools->setDiskPressure(name, false).has_value());
        QTRY_VERIFY_WITH_TIMEOUT(!hasTaint(), 60000);
    }

    /// On an overloaded machine leases come late.
    void aLivingNodeThatWasGivenUpSaysThatItIsWell()
    {
        const auto name = nodesOf("v6e")[0]["metadata"]["name"].get<std::string>();
        const Json unknown{{"type", "Ready"},
                           {"status", "Unknown"},
                           {"reason", "NodeStatusUnknown"},
                           {"message", "Kubelet stopped posting node status."}};
        const ResourcePath path = coreV1("nodes").named(name);
        const Json patch{{"status", {{"conditions", Json::array({unknown})}}}};
        QVERIFY(client().patch(path.sub("status"), PatchType::Strategic, patch).has_value());
        QTRY_COMPARE_WITH_TIMEOUT(readiness(*client().get(path)), std::string("True"), 60000);
    }

    void aLostHostTurnsNotReadyAndTheSliceComesBack()
    {
        const auto before = nodesOf("v6e");
        const auto name = before[2]["metadata"]["name"].get<std::string>();
        QVERIFY(m_pools->loseHost(name).has_value());
        QVERIFY(!m_told.upNow().contains(name));
        QTRY_COMPARE_WITH_TIMEOUT(unready(name), true, 120000);
        QTRY_VERIFY_WITH_TIMEOUT(allAreNew(before) && m_told.upNow().size() == 4, 120000);
        for (const Json &node : nodesOf("v6e"))
            QCOMPARE(readiness(node), std::string("True"));
    }

    void theSchedulerGivesTheNodesNetworkCardsToClaims()
    {
        PoolSpec pool = slicePool();
        pool.name = "dra";
        pool.labels = {{"cloud.google.com/gke-networking-dra-driver", "true"}};
        QVERIFY(m_pools->createPool(pool).has_value());
        const ResourcePath slices = apiGroup("resource.k8s.io", "v1", "resourceslices");
        QCOMPARE(client().list(slices)->items.size(), std::size_t{4});
        const Json claim = Json::parse(R"({"metadata":{"name":"all-netdev"},"spec":{"spec":{"devices":{
            "requests":[{"name":"req-netdev",
                "exactly":{"deviceClassName":"netdev.google.com","allocationMode":"All"}}]}}}})");
        const ResourcePath templates = apiGroup("resource.k8s.io", "v1", "resourceclaimtemplates", "default");
        QVERIFY(client().create(templates, claim).has_value());
        QVERIFY(makePod(Json::parse(R"({"metadata":{"name":"net"},"spec":{
            "nodeSelector":{"cloud.google.com/gke-nodepool":"dra"},
            "tolerations":[{"key":"google.com/tpu","operator":"Exists"}],
            "resourceClaims":[{"name":"netdev","resourceClaimTemplateName":"all-netdev"}],
            "containers":[{"name":"c","image":"x","resources":{"claims":[{"name":"netdev"}]}}]}})")));
        QTRY_VERIFY_WITH_TIMEOUT(!nodeOfPod("net").empty(), 60000);
        const auto claims = client().list(apiGroup("resource.k8s.io", "v1", "resourceclaims", "default"));
        QCOMPARE(claims->items.size(), std::size_t{1});
        const Json results = claims->items[0]["status"]["allocation"]["devices"]["results"];
        QCOMPARE(results.size(), std::size_t{2});
        QVERIFY(results[0]["device"] == "net1" && results[1]["device"] == "net2");
        QVERIFY(results[0]["pool"] == nodeOfPod("net"));
        QVERIFY(client().remove(coreV1("pods", "default", "net"), forced()).has_value());
        QVERIFY(m_pools->deletePool("dra").has_value());
        QCOMPARE(client().list(slices)->items.size(), std::size_t{0});
    }

    void aDeletedPoolLeavesNothing()
    {
        const auto nodes = nodesOf("v6e");
        QVERIFY(m_pools->deletePool("v6e").has_value());
        QVERIFY(m_pools->deletePool("v6e").has_value());
        QCOMPARE(nodesOf("v6e").size(), std::size_t{0});
        for (const Json &node : nodes)
            QCOMPARE(leaseOf(node["metadata"]["name"]).error().code, ErrorCode::NotFound);
        QVERIFY(m_told.upNow().empty());
        QVERIFY(m_pools->pools().empty());
    }

private:
    KubeClient &client() { return m_plane->client(); }

    std::vector<Json> nodesOf(const std::string &pool)
    {
        KubeListOptions list;
        list.labelSelector = "cloud.google.com/gke-nodepool=" + pool;
        const auto nodes = client().list(coreV1("nodes"), list);
        return nodes ? nodes->items : std::vector<Json>();
    }

    bool said(const std::string &node, const std::string &reason)
    {
        KubeListOptions list;
        list.fieldSelector = "involvedObject.name=" + node + ",reason=" + reason;
        const auto events = client().list(coreV1("events", "default"), list);
        return events && !events->items.empty();
    }

    Result<Json> leaseOf(const std::string &node)
    {
        return client().get(apiGroup("coordination.k8s.io", "v1", "leases", "kube-node-lease", node));
    }

    /// The namespace's service account comes a moment after the controllers.
    bool makePod(const Json &pod)
    {
        for (int i = 0; i < 100; ++i) {
            const auto made = client().create(coreV1("pods", "default"), pod);
            if (made)
                return true;
            qInfo("%s", made.error().message.c_str());
            QTest::qWait(200);
        }
        return false;
    }

    std::string nodeOfPod(const std::string &name)
    {
        const auto pod = client().get(coreV1("pods", "default", name));
        return pod ? pod->at("spec").value("nodeName", std::string()) : std::string();
    }

    bool unready(const std::string &name)
    {
        const auto node = client().get(coreV1("nodes").named(name));
        return node && readiness(*node) == "Unknown";
    }

    bool allAreNew(const std::vector<Json> &before)
    {
        std::set<std::string> old;
        for (const Json &node : before)
            old.insert(node["metadata"]["uid"].get<std::string>());
        const auto now = nodesOf("v6e");
        for (const Json &node : now) {
            if (old.contains(node["metadata"]["uid"].get<std::string>()))
                return false;
        }
        return now.size() == before.size();
    }

    static KubeDeleteOptions forced()
    {
        KubeDeleteOptions options;
        options.gracePeriodSeconds = 0;
        return options;
    }

    std::unique_ptr<tests::RealPlane> m_plane;
    Told m_told;
    std::unique_ptr<NodePools> m_pools;
};

QTEST_GUILESS_MAIN(TestNodePools)
#include "tst_node_pools.moc"
