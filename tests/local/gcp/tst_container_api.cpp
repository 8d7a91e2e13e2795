#include "tests/local/gcp/container_requests.h"

#include <QTemporaryDir>

using namespace cluster;
using namespace tests;
using nlohmann::json;

class TestContainerApi : public QObject
{
    Q_OBJECT

private slots:
    void aClusterLivesFromCreateToDelete();
    void aSliceIsMadeByItsRules();
    void autopilotClustersAreRegionalAndMakeNoPools();
    void updatesChangeOneThing();
    void oneOperationAtATime();
    void resizesWhatCanBeResized();
    void requestsNeedTheToken();
    void wrongRequestsAreToldSo();
    void operationsSurviveARestart();
    void clustersOfOneNameInTwoPlaces();
};
void TestContainerApi::aClusterLivesFromCreateToDelete()
{
    GcpFixture google;
    const Answer started
        = google.container("POST", kZone, clusterBody("c", {{"initialClusterVersion", "1.33"}}));
    QCOMPARE(started.status, 200);
    QCOMPARE(started.body["operationType"].get<std::string>(), std::string("CREATE_CLUSTER"));
    QVERIFY(started.body["targetLink"].get<std::string>().ends_with(
        "projects/123456789012/zones/us-east5-b/clusters/c"));
    const json done = google.finished(started);
    QVERIFY(done.contains("endTime"));
    QVERIFY(!done.contains("detail")); // gcloud would warn of it
    const json cluster = google.container("GET", kCluster).body;
    QCOMPARE(cluster["status"].get<std::string>(), std::string("RUNNING"));
    QCOMPARE(cluster["zone"].get<std::string>(), std::string("us-east5-b"));
    QCOMPARE(cluster["location"].get<std::string>(), std::string("us-east5-b"));
    QCOMPARE(cluster["endpoint"].get<std::string>(), std::string("127.0.0.1:6443"));
    QCOMPARE(cluster["currentMasterVersion"].get<std::string>(), std::string("1.33.5-gke.1201000"));
    QCOMPARE(cluster["currentNodeCount"].get<int>(), 1);
    QVERIFY(!cluster["masterAuth"]["clusterCaCertificate"].get<std::string>().empty());
    QCOMPARE(cluster["nodePools"][0]["config"]["machineType"].get<std::string>(), std::string("e2-medium"));
    QCOMPARE(google.container("GET", "-/clusters").body["clusters"].size(), std::size_t{1});
    QCOMPARE(google.container("POST", kZone, clusterBody("c")).status, 409);
    QVERIFY(!google.finished(google.container("DELETE", kCluster)).contains("error"));
    const Answer gone = google.container("GET", kCluster);
    QCOMPARE(gone.status, 404);
    QCOMPARE(gone.message(), std::string("Not found: projects/my-project/locations/us-east5-b/clusters/c."));
    QCOMPARE(google.container("GET", "-/operations").body["operations"].size(), std::size_t{2});
}

void TestContainerApi::aSliceIsMadeByItsRules()
{
    GcpFixture google;
    makeCluster(google);
    const json done = google.finished(google.container("POST", kPools, slice()));
    QVERIFY2(!done.contains("error"), done.dump().c_str());
    QVERIFY(has(google.host.calls(), "createPool v6e-16 4"));
    const json pool = google.container("GET", std::string(kPools) + "/v6e-16").body;
    QCOMPARE(pool["status"].get<std::string>(), std::string("RUNNING"));
    QCOMPARE(pool["placementPolicy"]["type"].get<std::string>(), std::string("COMPACT"));
    QCOMPARE(pool["config"]["taints"][0]["key"].get<std::string>(), std::string("google.com/tpu"));
    QCOMPARE(google.container("GET", kCluster).body["currentNodeCount"].get<int>(), 5);
    QCOMPARE(
        google.container("POST", kPools, slice()).message(),
        std::string("Already exists: projects/my-project/zones/us-east5-b/clusters/c/nodePools/v6e-16."));
    json wrong = slice("w");
    wrong["nodePool"]["initialNodeCount"] = 3;
    const Answer refused = google.container("POST", kPools, wrong);
    QCOMPARE(refused.status, 400);
    QVERIFY(refused.message().find("is not a valid size of TPU pod slice") != std::string::npos);
    QCOMPARE(google.container("POST", std::string(kPools) + "/v6e-16:setSize", {{"nodeCount", 8}}).status,
             400);
    QVERIFY(!google.finished(google.container("DELETE", std::string(kPools) + "/v6e-16")).contains("error"));
    QCOMPARE(google.container("GET", std::string(kPools) + "/v6e-16").status, 404);
}

void TestContainerApi::autopilotClustersAreRegionalAndMakeNoPools()
{
    GcpFixture google;
    const json autopilot{{"autopilot", {{"enabled", true}}}};
    QCOMPARE(google.container("POST", kZone, clusterBody("c", autopilot)).status, 400);
    QVERIFY(!google.finished(google.container("POST", "us-east5/clusters", clusterBody("c", autopilot)))
                 .contains("error"));
    QVERIFY(!has(google.host.calls(), "createPool default-pool 1"));
    const json cluster = google.container("GET", "us-east5/clusters/c").body;
    QCOMPARE(cluster["currentNodeCount"].get<int>(), 0);
    QVERIFY(cluster["autopilot"]["enabled"].get<bool>());
    QCOMPARE(cluster["workloadIdentityConfig"]["workloadPool"].get<std::string>(),
             std::string("my-project.svc.id.goog"));
    QCOMPARE(google.container("POST", "us-east5/clusters/c/nodePools", slice()).message(),
             std::string("Autopilot clusters do not support mutating node pools."));
}

void TestContainerApi::updatesChangeOneThing()
{
    GcpFixture google;
    makeCluster(google);
    const json addons{{"update", {{"desiredAddonsConfig", {{"rayOperatorConfig", {{"enabled", true}}}}}}}};
    QVERIFY(!google.finished(google.container("PUT", kCluster, addons)).contains("error"));
    QVERIFY(has(google.host.calls(), "updateCluster c ray"));
    json cluster = google.container("GET", kCluster).body;
    QVERIFY(cluster["addonsConfig"]["rayOperatorConfig"]["enabled"].get<bool>());
    QVERIFY(cluster["addonsConfig"]["gcePersistentDiskCsiDriverConfig"]["enabled"].get<bool>());
    QCOMPARE(google.container("PUT", kCluster, {{"update", json::object()}}).message(),
             std::string("Must specify a field to update."));
    QCOMPARE(
        google
            .container("PUT", kCluster,
                       {{"update", {{"desiredWorkloadIdentityConfig", {{"workloadPool", "x.svc.id.goog"}}}}}})
            .status,
        400);
    google.host.failNext("updateCluster", {ErrorCode::Unavailable, "no"});
    const json other{{"update", {{"desiredAddonsConfig", {{"rayOperatorConfig", {{"enabled", false}}}}}}}};
    QVERIFY(google.finished(google.container("PUT", kCluster, other)).contains("error"));
    cluster = google.container("GET", kCluster).body; // as it was
    QVERIFY(cluster["addonsConfig"]["rayOperatorConfig"]["enabled"].get<bool>());
    QCOMPARE(cluster["status"].get<std::string>(), std::string("RUNNING"));
}

void TestContainerApi::oneOperationAtATime()
{
    GcpFixture google;
    makeCluster(google);
    google.host.hold("createPool");
    const Answer first = google.container("POST", kPools, slice());
    QCOMPARE(first.status, 200);
    const Answer second = google.container("DELETE", kCluster);
    QCOMPARE(second.status, 400);
    QCOMPARE(second.body["error"]["status"].get<std::string>(), std::string("FAILED_PRECONDITION"));
    QCOMPARE(second.message(),
             "Cluster is running incompatible operation " + first.body["name"].get<std::string>() + ".");
    QCOMPARE(google.container("GET", kCluster).body["status"].get<std::string>(), std::string("RECONCILING"));
    google.host.release();
    google.finished(first);
    QCOMPARE(google.container("DELETE", kCluster).status, 200);
}

void TestContainerApi::resizesWhatCanBeResized()
{
    GcpFixture google;
    makeCluster(google);
    const std::string path = std::string(kPools) + "/default-pool:setSize";
    QVERIFY(!google.finished(google.container("POST", path, {{"nodeCount", 3}})).contains("error"));
    QVERIFY(has(google.host.calls(), "updatePool default-pool 3"));
    QCOMPARE(google.container("GET", kCluster).body["currentNodeCount"].get<int>(), 3);
    google.host.failNext("updatePool", {ErrorCode::Internal, "broken"});
    QVERIFY(google.finished(google.container("POST", path, {{"nodeCount", 9}})).contains("error"));
    QCOMPARE(
        google.container("GET", std::string(kPools) + "/default-pool").body["initialNodeCount"].get<int>(),
        3);
    QCOMPARE(google.container("POST", std::string(kPools) + "/none:setSize", {{"nodeCount", 3}}).status, 404);
}

void TestContainerApi::requestsNeedTheToken()
{
    GcpFixture google;
    for (const char *token : {"", "wrong", "secretsecret"}) {
        const Answer refused
            = google.ask("GET", "/container/v1/projects/my-project/locations/-/clusters", nullptr, token);
        QCOMPARE(refused.status, 401);
        QCOMPARE(refused.body["error"]["status"].get<std::string>(), std::string("UNAUTHENTICATED"));
        QCOMPARE(google.ask("GET", "/slipway/v1/faults", nullptr, token).status, 401);
    }
    google.ask("POST", "/slipway/v1/faults",
               {{"kind", "token-expiry"}, {"service", "container"}, {"times", 1}});
    QCOMPARE(google.container("GET", "-/clusters").status, 401);
    QCOMPARE(google.container("GET", "-/clusters").status, 200);
}

void TestContainerApi::wrongRequestsAreToldSo()
{
    GcpFixture google;
    QCOMPARE(google.container("POST", kZone, "{").status, 400);
    QCOMPARE(google.container("POST", kZone, json::object()).status, 400);
    QCOMPARE(google.container("POST", kZone, json::array({1})).status, 400);
    QCOMPARE(google.container("POST", kZone, {{"cluster", {{"name", 7}}}}).status, 400);
    QCOMPARE(google.container("POST", "nowhere/clusters", clusterBody("c")).message(),
             std::string("Permission denied on 'locations/nowhere' (or it may not exist)."));
    QCOMPARE(google.container("POST", kZone, clusterBody("C_")).status, 400);
    QCOMPARE(google.container("POST", kZone, clusterBody("c", {{"initialClusterVersion", "1.99"}})).message(),
             std::string("No valid versions with the prefix \"1.99\" found."));
    QCOMPARE(google.container("GET", "us-east5-b/widgets").status, 404);
    QCOMPARE(google.ask("GET", "/container/v7/projects/p").status, 404);
    QCOMPARE(google.ask("GET", "/nothing").status, 404);
    QCOMPARE(google.ask("GET", "/container/v1/projects/other/locations/-/clusters").status, 403);
    QCOMPARE(google.container("GET", "us-east5-b/operations/operation-1").status, 404);
    QVERIFY(google.host.calls().empty());
}

void TestContainerApi::operationsSurviveARestart()
{
    QTemporaryDir folder;
    GcpFixture google(folder.filePath("gcp.sqlite").toStdString());
    makeCluster(google);
    google.host.hold("createPool");
    const Answer started = google.container("POST", kPools, slice());
    QTRY_VERIFY(google.host.isWaiting());
    google.restart(); // the next process takes the operation on
    QTRY_VERIFY(google.host.isWaiting());
    QVERIFY(google.container("DELETE", kCluster)
                .message()
                .starts_with("Cluster is running incompatible operation"));
    google.host.release();
    const json done = google.finished(started);
    QVERIFY2(!done.contains("error"), done.dump().c_str());
    QCOMPARE(google.container("GET", std::string(kPools) + "/v6e-16").body["status"].get<std::string>(),
             std::string("RUNNING"));
    const auto calls = google.host.calls();
    QCOMPARE(std::count(calls.begin(), calls.end(), "createPool v6e-16 4"), 2);
}

void TestContainerApi::clustersOfOneNameInTwoPlaces()
{
    GcpFixture google;
    makeCluster(google);
    QVERIFY(!google.finished(google.container("POST", "us-central1-a/clusters", clusterBody("c")))
                 .contains("error"));
    QCOMPARE(google.container("GET", "-/clusters").body["clusters"].size(), std::size_t{2});
    QCOMPARE(google.container("GET", kZone).body["clusters"].size(), std::size_t{1});
    // The same by the paths of old clients and of the beta.
    QCOMPARE(
        google.ask("GET", "/container/v1beta1/projects/my-project/zones/us-central1-a/clusters/c").status,
        200);
    QCOMPARE(
        google.ask("GET", "/container/v1/projects/123456789012/locations/us-central1-a/clusters/c").status,
        200);
}

QTEST_GUILESS_MAIN(TestContainerApi)
#include "tst_container_api.moc"
