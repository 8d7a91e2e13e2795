#include "cluster/local/nodes/pool_scaler.h"
#include "tests/local/gcp/gcp_fixture.h"

#include <QTest>
#include <algorithm>

using namespace cluster;
using nlohmann::json;
using tests::Answer;
using tests::GcpFixture;

namespace {

constexpr const char *kCluster = "us-east5/clusters/a";

local::PoolSpec slice()
{
    local::PoolSpec pool;
    pool.name = "nap-1";
    pool.machineType = "ct6e-standard-4t";
    pool.zones = {"us-east5-b"};
    pool.nodeCount = 4;
    pool.tpuTopology = "4x4";
    pool.tpuAccelerator = "tpu-v6e-slice";
    pool.tpuChipsPerNode = 4;
    pool.isMultiHost = true;
    pool.isAutoscaled = true;
    pool.maxNodes = 4;
    pool.isAutoCreated = true;
    pool.taints = {{"dedicated", "llm", "NoSchedule"}};
    return pool;
}

/// An Autopilot cluster, and GKE's hand on its pools.
class Autopilot
{
public:
    Autopilot()
    {
        const json body{{"cluster",
                         {{"name", "a"},
                          {"autopilot", {{"enabled", true}}},
                          {"nodePools", {{{"name", "default-pool"}, {"initialNodeCount", 1}}}}}}};
        google.finished(google.container("POST", "us-east5/clusters", body));
        const std::string id = google.container("GET", kCluster).body.value("id", "");
        scaler = google.server().scaler(id, [this] { return pools; }, {});
    }

    std::size_t operations() { return google.container("GET", "-/operations").body["operations"].size(); }

    GcpFixture google;
    std::vector<local::PoolSpec> pools;
    std::unique_ptr<local::PoolScaler> scaler;
};

} // namespace

class AutomaticPoolsTest : public QObject
{
    Q_OBJECT

private slots:
    void whatGkeMakesIsShownAsAUsersPoolWouldBe();
    void aFlexStartPoolComesWithTheNodesThatPodsWaitFor();
    void whatCantBeHadLeavesNothingBehind_data();
    void whatCantBeHadLeavesNothingBehind();
    void aPoolThatIsNotThereCantBeResized();
};

void AutomaticPoolsTest::whatGkeMakesIsShownAsAUsersPoolWouldBe()
{
    Autopilot cluster;
    const Status made = cluster.scaler->createPool(slice());
    QVERIFY2(made, made ? "" : made.error().message.c_str());
    const auto calls = cluster.google.host.calls();
    QVERIFY(std::ranges::find(calls, "createPool nap-1 4") != calls.end());
    const json pool = cluster.google.container("GET", std::string(kCluster) + "/nodePools/nap-1").body;
    QCOMPARE(pool["status"].get<std::string>(), std::string("RUNNING"));
    QCOMPARE(pool["placementPolicy"]["tpuTopology"].get<std::string>(), std::string("4x4"));
    QVERIFY(pool["autoscaling"]["autoprovisioned"].get<bool>());
    QCOMPARE(cluster.operations(), std::size_t{2});
    // The same by a user is refused: Autopilot's pools are GKE's.
    const Answer refused = cluster.google.container("POST", std::string(kCluster) + "/nodePools",
                                                    {{"nodePool", {{"name", "mine"}}}});
    QCOMPARE(refused.status, 400);
    cluster.pools = {slice()};
    QVERIFY(cluster.scaler->resizePool("nap-1", 0));
    QVERIFY(cluster.scaler->deletePool("nap-1"));
    QCOMPARE(cluster.google.container("GET", std::string(kCluster) + "/nodePools/nap-1").status, 404);
}

void AutomaticPoolsTest::aFlexStartPoolComesWithTheNodesThatPodsWaitFor()
{
    Autopilot cluster;
    local::PoolSpec pool = slice();
    pool.provisioning = local::Provisioning::FlexStart;
    const Status made = cluster.scaler->createPool(pool);
    QVERIFY2(made, made ? "" : made.error().message.c_str());
    const json shown = cluster.google.container("GET", std::string(kCluster) + "/nodePools/nap-1").body;
    QVERIFY(shown["config"]["flexStart"].get<bool>());
    QVERIFY(!shown["management"]["autoRepair"].get<bool>());
}

void AutomaticPoolsTest::whatCantBeHadLeavesNothingBehind_data()
{
    QTest::addColumn<QByteArray>("fault");
    QTest::newRow("no stock") << QByteArray(R"({"kind": "stockout", "machineType": "ct6e-standard-4t"})");
    QTest::newRow("no quota") << QByteArray(
        R"({"kind": "quota", "location": "us-east5", "machineType": "ct6e-standard-4t", "limit": 8})");
}

void AutomaticPoolsTest::whatCantBeHadLeavesNothingBehind()
{
    QFETCH(QByteArray, fault);
    Autopilot cluster;
    QCOMPARE(cluster.google.ask("POST", "/slipway/v1/faults", json::parse(fault.toStdString())).status, 200);
    const Status refused = cluster.scaler->createPool(slice());
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, ErrorCode::ResourceExhausted);
    QCOMPARE(cluster.google.container("GET", std::string(kCluster) + "/nodePools/nap-1").status, 404);
    QCOMPARE(cluster.google.ask("DELETE", "/slipway/v1/faults").status, 200);
    QVERIFY(cluster.scaler->createPool(slice())); // under the same name
}

void AutomaticPoolsTest::aPoolThatIsNotThereCantBeResized()
{
    Autopilot cluster;
    const Status refused = cluster.scaler->resizePool("none", 4);
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, ErrorCode::NotFound);
}

QTEST_GUILESS_MAIN(AutomaticPoolsTest)
#include "tst_automatic_pools.moc"
