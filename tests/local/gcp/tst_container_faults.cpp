#include "tests/local/gcp/container_requests.h"

#include <QTemporaryDir>

using namespace cluster;
using namespace tests;
using nlohmann::json;

class TestContainerFaults : public QObject
{
    Q_OBJECT

private slots:
    void failuresAreToldInAllThreeWays();
    void stockoutsLeaveAPoolInError();
    void quotasAreCheckedBefore();
    void requestFaultsStrike();
    void nodesSufferTheirFaults();
    void ordersOfFaultsAreNeverStruck_data();
    void ordersOfFaultsAreNeverStruck();
    void aHostFaultStrikesOnceOverRestarts();
};
void TestContainerFaults::failuresAreToldInAllThreeWays()
{
    GcpFixture google;
    makeCluster(google);
    google.host.failNext("createPool", {ErrorCode::ResourceExhausted, "out of loopback addresses"});
    const json done = google.finished(google.container("POST", kPools, slice()));
    QCOMPARE(done["status"].get<std::string>(), std::string("DONE"));
    QCOMPARE(done["statusMessage"].get<std::string>(), std::string("out of loopback addresses"));
    QCOMPARE(done["error"]["code"].get<int>(), 8);
    QCOMPARE(done["nodepoolConditions"][0]["canonicalCode"].get<std::string>(),
             std::string("RESOURCE_EXHAUSTED"));
    QVERIFY(has(google.host.calls(), "deletePool v6e-16")); // nothing of a slice stays
    QCOMPARE(google.container("GET", std::string(kPools) + "/v6e-16").body["status"].get<std::string>(),
             std::string("ERROR"));
    QVERIFY(!google.finished(google.container("DELETE", std::string(kPools) + "/v6e-16")).contains("error"));
}

void TestContainerFaults::stockoutsLeaveAPoolInError()
{
    GcpFixture google;
    makeCluster(google);
    const Answer ordered = google.ask("POST", "/slipway/v1/faults",
                                      {{"kind", "stockout"},
                                       {"location", "us-east5-b"},
                                       {"machineType", "ct6e-standard-4t"},
                                       {"times", 1}});
    QCOMPARE(ordered.status, 200);
    const json done = google.finished(google.container("POST", kPools, slice()));
    QVERIFY(done["statusMessage"].get<std::string>().starts_with(
        "Google Compute Engine: Atomic resize failed with [GCE_STOCKOUT]"));
    QCOMPARE(done["nodepoolConditions"][0]["code"].get<std::string>(), std::string("GCE_STOCKOUT"));
    QVERIFY(!has(google.host.calls(), "createPool v6e-16 4"));
    QVERIFY(google.ask("GET", "/slipway/v1/faults").body["faults"].empty()); // it was ordered once
    google.finished(google.container("DELETE", std::string(kPools) + "/v6e-16"));
    QVERIFY(!google.finished(google.container("POST", kPools, slice())).contains("error"));
}

void TestContainerFaults::quotasAreCheckedBefore()
{
    GcpFixture google;
    makeCluster(google);
    const Answer ordered = google.ask(
        "POST", "/slipway/v1/faults",
        {{"kind", "quota"}, {"location", "us-east5"}, {"machineType", "ct6e-standard-4t"}, {"limit", 8}});
    const Answer refused = google.container("POST", kPools, slice());
    QCOMPARE(refused.status, 403);
    QVERIFY2(refused.message().starts_with("Insufficient regional quota to satisfy request: resource \""),
             refused.message().c_str());
    QVERIFY(refused.message().find("request requires '16.0' and is short '8.0'") != std::string::npos);
    QCOMPARE(google.ask("DELETE", "/slipway/v1/faults/" + ordered.body["id"].get<std::string>()).status, 200);
    json much = slice();
    for (int i = 0; i < 4; ++i) { // 4 x 256 chips are all that a new target has
        much["nodePool"]["name"] = "big-" + std::to_string(i);
        much["nodePool"]["placementPolicy"]["tpuTopology"] = "16x16";
        much["nodePool"]["initialNodeCount"] = 64;
        QVERIFY(!google.finished(google.container("POST", kPools, much)).contains("error"));
    }
    const Answer over = google.container("POST", kPools, slice());
    QCOMPARE(over.status, 403);
    QVERIFY2(over.message().find("with '0.0' available") != std::string::npos, over.message().c_str());
}

void TestContainerFaults::requestFaultsStrike()
{
    GcpFixture google;
    google.ask("POST", "/slipway/v1/faults",
               {{"faults",
                 {{{"kind", "rate-limit"}, {"service", "container"}, {"times", 1}},
                  {{"kind", "unavailable"}, {"service", "container"}, {"path", "serverConfig"}},
                  {{"kind", "latency"}, {"service", "container"}, {"latencyMs", 1}}}}});
    const Answer limited = google.container("GET", "-/clusters");
    QCOMPARE(limited.status, 429);
    QCOMPARE(limited.body["error"]["status"].get<std::string>(), std::string("RESOURCE_EXHAUSTED"));
    QCOMPARE(google.container("GET", "-/clusters").status, 200);
    QCOMPARE(google.container("GET", "us-east5/serverConfig").status, 503);
    QCOMPARE(google.ask("POST", "/slipway/v1/faults", {{"kind", "earthquake"}}).status, 400);
    QCOMPARE(google.ask("DELETE", "/slipway/v1/faults").status, 200);
    QCOMPARE(google.container("GET", "us-east5/serverConfig").status, 200);
    google.ask("POST", "/slipway/v1/faults", {{"kind", "disk-full"}});
    QCOMPARE(google.container("POST", kZone, clusterBody("c")).status, 429);
    QCOMPARE(google.container("GET", "-/clusters").status, 200);
    google.ask("DELETE", "/slipway/v1/faults");
    makeCluster(google);
}

void TestContainerFaults::nodesSufferTheirFaults()
{
    GcpFixture google;
    makeCluster(google);
    const Answer ordered = google.ask("POST", "/slipway/v1/faults",
                                      {{"kind", "host-lost"}, {"cluster", "c"}, {"pool", "default-pool"}});
    QTRY_COMPARE(google.host.faults().size(), std::size_t{1});
    QVERIFY(google.host.faults()[0].active);
    QCOMPARE(google.host.faults()[0].pool, std::string("default-pool"));
    google.ask("DELETE", "/slipway/v1/faults/" + ordered.body["id"].get<std::string>());
    QTRY_COMPARE(google.host.faults().size(), std::size_t{2});
    QVERIFY(!google.host.faults()[1].active);
    google.ask("POST", "/slipway/v1/faults", {{"kind", "preemption"}, {"cluster", "another"}});
    google.ask("POST", "/slipway/v1/faults", {{"kind", "maintenance"}, {"cluster", "c"}});
    QTRY_COMPARE(google.host.faults().size(), std::size_t{3}); // the other cluster's is not among them
}

void TestContainerFaults::ordersOfFaultsAreNeverStruck_data()
{
    QTest::addColumn<QString>("kind");
    for (const char *kind : {"unavailable", "rate-limit", "token-expiry", "latency", "disk-full"})
        QTest::newRow(kind) << QString::fromLatin1(kind);
}

void TestContainerFaults::ordersOfFaultsAreNeverStruck()
{
    QFETCH(QString, kind);
    GcpFixture google;
    makeCluster(google);
    json fault{{"kind", kind.toStdString()}};
    if (kind == QStringLiteral("latency"))
        fault["latencyMs"] = 600000;
    QCOMPARE(google.ask("POST", "/slipway/v1/faults", fault).status, 200);
    QCOMPARE(google.ask("GET", "/slipway/v1/faults").body["faults"].size(), std::size_t{1});
    QCOMPARE(google.ask("DELETE", "/slipway/v1/faults").status, 200);
    QCOMPARE(google.container("GET", kCluster).status, 200);
}

void TestContainerFaults::aHostFaultStrikesOnceOverRestarts()
{
    QTemporaryDir folder;
    GcpFixture google(folder.filePath(QStringLiteral("gcp.sqlite")).toStdString());
    makeCluster(google);
    const json fault{{"kind", "host-lost"}, {"cluster", "c"}};
    google.ask("POST", "/slipway/v1/faults", fault);
    QTRY_COMPARE(google.host.faults().size(), std::size_t{1});
    QTRY_COMPARE(google.ask("GET", "/slipway/v1/faults").body["faults"][0]["struck"].get<int>(), 1);
    google.restart();
    json once = fault;
    once["times"] = 1;
    google.ask("POST", "/slipway/v1/faults", once); // also makes it look at all orders again
    QTRY_COMPARE(google.host.faults().size(), std::size_t{2});
    QTRY_COMPARE(google.ask("GET", "/slipway/v1/faults").body["faults"].size(), std::size_t{1});
    QCOMPARE(google.host.faults().size(), std::size_t{2});
}

QTEST_GUILESS_MAIN(TestContainerFaults)
#include "tst_container_faults.moc"
