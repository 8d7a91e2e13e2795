#include "cluster/local/gcp/compute_catalog.h"
#include "tests/local/gcp/gcp_fixture.h"

#include <QTest>
#include <algorithm>

using namespace cluster;
using nlohmann::json;
using tests::Answer;
using tests::GcpFixture;

namespace {

constexpr const char *kClusters = "us-east5-b/clusters";
constexpr const char *kCluster = "us-east5-b/clusters/c";
constexpr const char *kPools = "us-east5-b/clusters/c/nodePools";
constexpr const char *kCompute = "/compute/compute/v1/projects/my-project/";

void makeCluster(GcpFixture &google, json more = json::object(), const std::string &path = kClusters)
{
    json cluster{{"name", "c"}, {"nodePools", {{{"name", "default-pool"}, {"initialNodeCount", 1}}}}};
    cluster.update(more);
    const json done = google.finished(google.container("POST", path, {{"cluster", std::move(cluster)}}));
    QVERIFY2(!done.contains("error"), done.dump().c_str());
}

json slice()
{
    return {{"name", "slice"},
            {"initialNodeCount", 4},
            {"locations", {"us-east5-b"}},
            {"placementPolicy", {{"tpuTopology", "4x4"}}},
            {"config", {{"machineType", "ct6e-standard-4t"}}}};
}

Answer create(GcpFixture &google, const json &pool, const std::string &path = kPools)
{
    return google.container("POST", path, {{"nodePool", pool}});
}

/// In a zone that has TPU7x.
std::string ironwoodZone()
{
    const auto &compute = local::ComputeCatalog::builtIn();
    return compute.accelerator(compute.machine("tpu7x-standard-4t")->accelerator)->zones.front();
}

} // namespace

class TestPoolResources : public QObject
{
    Q_OBJECT

private slots:
    void aWorkloadPolicyGivesASliceItsTopology();
    void policiesHaveOneKind_data();
    void policiesHaveOneKind();
    void aReservationIsUsedInItsZone();
    void aSliceThatDoesNotFitItsAddressesIsRefused();
    void wrongTypesAreRefusedEverywhere_data();
    void wrongTypesAreRefusedEverywhere();
    void anUpdateChangesOneThing();
    void aCompactPoolStaysInItsZone();
};

void TestPoolResources::aWorkloadPolicyGivesASliceItsTopology()
{
    GcpFixture google;
    const std::string zone = ironwoodZone();
    const std::string region = local::regionOfZone(zone);
    makeCluster(google, json::object(), zone + "/clusters");
    const std::string pools = zone + "/clusters/c/nodePools";
    json pool{{"name", "ironwood"},
              {"initialNodeCount", 2},
              {"placementPolicy", {{"policyName", "wp"}}},
              {"config", {{"machineType", "tpu7x-standard-4t"}, {"diskType", "hyperdisk-balanced"}}}};
    const Answer early = create(google, pool, pools);
    QCOMPARE(early.status, 404);
    QCOMPARE(early.message(),
             "Google Compute Engine: The resource 'projects/my-project/regions/" + region
                 + "/resourcePolicies/wp' was not found.");
    const json policy{{"name", "wp"},
                      {"workloadPolicy", {{"type", "HIGH_THROUGHPUT"}, {"acceleratorTopology", "2x2x2"}}}};
    QCOMPARE(google.ask("POST", kCompute + ("regions/" + region + "/resourcePolicies"), policy).status, 200);
    const json done = google.finished(create(google, pool, pools));
    QVERIFY2(!done.contains("error"), done.dump().c_str());
    const json shown = google.container("GET", pools + "/ironwood").body;
    QCOMPARE(shown["placementPolicy"]["tpuTopology"].get<std::string>(), std::string("2x2x2"));
    QVERIFY(!shown["placementPolicy"].contains("type"));
}

void TestPoolResources::policiesHaveOneKind_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<int>("status");
    QTest::newRow("none") << QByteArray(R"({"name":"p"})") << 400;
    QTest::newRow("two") << QByteArray(
        R"({"name":"p","workloadPolicy":{"type":"HIGH_THROUGHPUT"},"groupPlacementPolicy":{}})")
                         << 400;
    QTest::newRow("no type") << QByteArray(R"({"name":"p","workloadPolicy":{}})") << 400;
    QTest::newRow("no topology") << QByteArray(
        R"({"name":"p","workloadPolicy":{"type":"HIGH_THROUGHPUT","acceleratorTopology":"big"}})")
                                 << 400;
    QTest::newRow("a group") << QByteArray(
        R"({"name":"p","groupPlacementPolicy":{"collocation":"COLLOCATED"}})")
                             << 200;
}

void TestPoolResources::policiesHaveOneKind()
{
    QFETCH(QByteArray, body);
    QFETCH(int, status);
    GcpFixture google;
    QCOMPARE(google
                 .ask("POST", std::string(kCompute) + "regions/us-east5/resourcePolicies",
                      json::parse(body.toStdString()))
                 .status,
             status);
}

void TestPoolResources::aReservationIsUsedInItsZone()
{
    GcpFixture google;
    makeCluster(google);
    json pool = slice();
    pool["config"]["reservationAffinity"] = {{"consumeReservationType", "SPECIFIC_RESERVATION"},
                                             {"key", "compute.googleapis.com/reservation-name"},
                                             {"values", {"mine"}}};
    const json body{{"name", "mine"},
                    {"specificReservationRequired", true},
                    {"specificReservation",
                     {{"count", "4"}, {"instanceProperties", {{"machineType", "ct6e-standard-4t"}}}}}};
    const std::string zones = std::string(kCompute) + "zones/";
    QCOMPARE(google.ask("POST", zones + "us-east5-a/reservations", body).status, 200);
    const Answer elsewhere = create(google, pool);
    QCOMPARE(elsewhere.status, 404);
    QCOMPARE(
        elsewhere.message(),
        std::string("Google Compute Engine: reservation \"mine\" not found for node pool \"slice\" at zone "
                    "\"us-east5-b\"."));
    const Answer made = google.ask("POST", zones + "us-east5-b/reservations", body);
    QCOMPARE(made.body["status"].get<std::string>(), std::string("DONE"));
    const std::string operation = "us-east5-b/operations/" + made.body["name"].get<std::string>();
    QCOMPARE(google.ask("GET", zones + operation).status, 200);
    QCOMPARE(google.ask("POST", zones + "us-east5-b/reservations", body).status, 409);
    QCOMPARE(google.ask("GET", zones + "us-east5-b/reservations").body["items"].size(), std::size_t{1});
    QVERIFY(!google.finished(create(google, pool)).contains("error"));
    pool["name"] = "second"; // all four are in use
    const Answer full = create(google, pool);
    QCOMPARE(full.status, 429);
    QVERIFY2(full.message().ends_with("required 4 and short of 4 VM count of machine type ct6e-standard-4t."),
             full.message().c_str());
    QCOMPARE(google.ask("DELETE", zones + "us-east5-b/reservations/mine").status, 200);
    QCOMPARE(google.ask("GET", zones + "us-east5-b/reservations/mine").status, 404);
    QCOMPARE(google.ask("POST", zones + "us-east5-b/reservations", {{"name", "r"}}).status, 400);
}

void TestPoolResources::aSliceThatDoesNotFitItsAddressesIsRefused()
{
    GcpFixture google;
    makeCluster(google,
                {{"ipAllocationPolicy", {{"clusterIpv4CidrBlock", "10.4.0.0/22"}}}}); // four nodes of /24
    const json done = google.finished(create(google, slice()));
    const std::string said = done["statusMessage"].get<std::string>();
    QVERIFY2(said.starts_with(
                 "Google Compute Engine: Atomic resize failed with "
                 "[IP_SPACE_EXHAUSTED_WITH_DETAILS]: Instance 'gke-c-slice-0' creation failed: IP space "
                 "of 'projects/my-project/regions/us-east5/subnetworks/default-gke-c-pods' is "
                 "exhausted."),
             said.c_str());
    QCOMPARE(done["nodepoolConditions"][0]["code"].get<std::string>(),
             std::string("IP_SPACE_EXHAUSTED_WITH_DETAILS"));
    QCOMPARE(google.container("GET", std::string(kPools) + "/slice").body["status"].get<std::string>(),
             std::string("ERROR"));
    const auto calls = google.host.calls();
    QVERIFY(std::find(calls.begin(), calls.end(), "createPool slice 4") == calls.end());
    google.finished(google.container("DELETE", std::string(kPools) + "/slice"));
    json small = slice(); // as xpk asks for it
    small["maxPodsConstraint"] = {{"maxPodsPerNode", "15"}};
    QVERIFY(!google.finished(create(google, small)).contains("error"));
    QCOMPARE(google.container("GET", std::string(kPools) + "/slice").body["podIpv4CidrSize"].get<int>(), 27);
    // The other pool can't grow into what is left either.
    const json grown = google.finished(
        google.container("POST", std::string(kPools) + "/default-pool:setSize", {{"nodeCount", 5}}));
    QVERIFY(grown["statusMessage"].get<std::string>().starts_with(
        "Google Compute Engine: Not all instances running in IGM"));
}

void TestPoolResources::wrongTypesAreRefusedEverywhere_data()
{
    QTest::addColumn<QByteArray>("line");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("field");
    const auto row = [](const char *name, const char *line, const char *body, const char *field) {
        QTest::newRow(name) << QByteArray(line) << QByteArray(body) << QByteArray(field);
    };
    row("a cluster's pools", "POST us-east5-b/clusters", R"({"cluster":{"name":"d","nodePools":7}})",
        "cluster.node_pools");
    row("a pool", "POST us-east5-b/clusters/c/nodePools", R"({"nodePool":7})", "node_pool");
    row("its machine", "POST us-east5-b/clusters/c/nodePools",
        R"({"nodePool":{"config":{"machineType":[]}}})", "node_pool.config");
    row("a size", "POST us-east5-b/clusters/c/nodePools/default-pool:setSize", R"({"nodeCount":"x"})",
        "node_count");
    row("autoscaling", "POST us-east5-b/clusters/c/nodePools/default-pool:setAutoscaling",
        R"({"autoscaling":{"enabled":3}})", "autoscaling.enabled");
    row("management", "POST us-east5-b/clusters/c/nodePools/default-pool:setManagement",
        R"({"management":"x"})", "management");
    row("a pool's update", "PUT us-east5-b/clusters/c/nodePools/default-pool",
        R"({"labels":{"labels":{"a":1}}})", "labels.labels[0].value");
    row("a cluster's update", "PUT us-east5-b/clusters/c", R"({"update":{"desiredLocations":{}}})",
        "update.desired_locations");
    row("add-ons", "POST us-east5-b/clusters/c:setAddons", R"({"addonsConfig":{"rayOperatorConfig":1}})",
        "addons_config.ray_operator_config");
    row("labels", "POST us-east5-b/clusters/c:setResourceLabels", R"({"resourceLabels":1})",
        "resource_labels");
    row("locations", "POST us-east5-b/clusters/c:setLocations", R"({"locations":[1]})", "locations[0]");
    row("master", "POST us-east5-b/clusters/c:updateMaster", R"({"masterVersion":1})", "master_version");
}

void TestPoolResources::wrongTypesAreRefusedEverywhere()
{
    QFETCH(QByteArray, line);
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, field);
    GcpFixture google;
    makeCluster(google);
    const auto space = line.indexOf(' ');
    const Answer refused = google.container(line.left(space).toStdString(), line.mid(space + 1).toStdString(),
                                            json(body.toStdString()));
    QCOMPARE(refused.status, 400);
    QCOMPARE(refused.body["error"]["status"].get<std::string>(), std::string("INVALID_ARGUMENT"));
    const json &details = refused.body["error"]["details"];
    QVERIFY2(details.size() == 1 && details[0]["fieldViolations"][0]["field"] == field.toStdString(),
             refused.body.dump().c_str());
}

void TestPoolResources::anUpdateChangesOneThing()
{
    GcpFixture google;
    makeCluster(google);
    json update{{"desiredAddonsConfig", {{"rayOperatorConfig", {{"enabled", true}}}}},
                {"desiredVerticalPodAutoscaling", {{"enabled", true}}}};
    const Answer refused = google.container("PUT", kCluster, {{"update", update}});
    QCOMPARE(refused.status, 400);
    QVERIFY(refused.message().starts_with("Only one field of a cluster can be updated with each request"));
    update = {{"desiredLoggingConfig", json::object()}, {"desiredMonitoringConfig", json::object()}};
    QVERIFY(!google.finished(google.container("PUT", kCluster, {{"update", update}})).contains("error"));
    update = {{"desiredDatapathProvider", "ADVANCED_DATAPATH"}};
    QVERIFY(google.container("PUT", kCluster, {{"update", update}})
                .message()
                .ends_with("it is chosen when the cluster is created."));
}

void TestPoolResources::aCompactPoolStaysInItsZone()
{
    GcpFixture google;
    makeCluster(google, {{"locations", {"us-east5-b"}}}, "us-east5/clusters");
    const std::string pools = "us-east5/clusters/c/nodePools";
    const json pool{{"name", "near"},
                    {"initialNodeCount", 1},
                    {"locations", {"us-east5-b"}},
                    {"placementPolicy", {{"type", "COMPACT"}}},
                    {"config", {{"machineType", "n2-standard-4"}}}};
    QVERIFY(!google.finished(create(google, pool, pools)).contains("error"));
    const json zones{{"locations", {"us-east5-a", "us-east5-b"}}};
    QVERIFY(
        google.container("PUT", pools + "/near", zones).message().starts_with("Compact placement requires"));
    const json strategy{{"upgradeSettings", {{"strategy", "BLUE_GREEN"}}}};
    QVERIFY(google.container("PUT", pools + "/near", strategy).message().starts_with("Blue-green upgrades"));
    QVERIFY(!google.finished(google.container("PUT", pools + "/default-pool", zones)).contains("error"));
    QVERIFY(google.container("PUT", pools + "/default-pool", {{"locations", {"us-west1-a"}}}).status == 400);
}

QTEST_GUILESS_MAIN(TestPoolResources)
#include "tst_pool_resources.moc"
