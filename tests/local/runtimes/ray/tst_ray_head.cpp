#include "ray_stand.h"

#include <QTest>
#include <algorithm>

using namespace cluster;
using nlohmann::json;

namespace {

json picturesApp(const json &more = json::object())
{
    json app{{"name", "sd"}, {"import_path", "a.stable_diffusion:entrypoint"}, {"route_prefix", "/"}};
    app.update(more);
    return {{"applications", json::array({app})}};
}

/// Without a GPU for the model: its numbers are of a processor.
json picturesOnProcessors(const json &more = json::object())
{
    json model{{"name", "StableDiffusionV2"}, {"ray_actor_options", {{"num_gpus", 0}}}};
    model.update(more);
    return picturesApp({{"deployments", json::array({model})}});
}

QString text(const std::string &text)
{
    return QString::fromStdString(text);
}

QByteArray joined(const std::vector<std::string> &texts)
{
    QByteArray all;
    for (const std::string &one : texts)
        all += QByteArray::fromStdString(one) + "; ";
    return all;
}

} // namespace

class TestRayHead : public QObject
{
    Q_OBJECT

private slots:
    void fixedAnswersAreAsRecorded_data()
    {
        QTest::addColumn<QString>("name");
        for (const char *name : {"01-idle-agent-healthz",        "01-idle-agent-local-raylet-healthz",
                                 "01-idle-authentication-mode",  "01-idle-gcs-healthz",
                                 "01-idle-head-api-healthz",     "01-idle-head-local-raylet-healthz",
                                 "01-idle-jobs-empty",           "01-idle-nodes-hostnamelist",
                                 "01-idle-nodes-noview",         "01-idle-serve-get-before-any-put",
                                 "01-idle-serve-get-no-slash",   "01-idle-unknown-route",
                                 "01-idle-usage-stats",          "01-idle-v0-actors-empty",
                                 "01-idle-wrong-method",         "02-serve-get-after-delete",
                                 "02-serve-get-bad-api-type",    "02-serve-put-bad-schema",
                                 "02-serve-put-no-applications", "02-serve-put-same-route-prefix",
                                 "04-jobs-delete-unknown",       "04-jobs-get-unknown",
                                 "04-jobs-logs-unknown",         "05-state-node-detail-unknown",
                                 "05-state-v0-limit-too-large",  "05-state-v0-logs-no-node"})
            QTest::newRow(name) << QString::fromLatin1(name);
    }

    void fixedAnswersAreAsRecorded()
    {
        QFETCH(QString, name);
        const Recording wanted = recording(name);
        QVERIFY(wanted.status != 0);
        RayStand stand;
        const HttpResponse got = stand.replay(wanted);
        QCOMPARE(got.status, wanted.status);
        QCOMPARE(text(std::string(got.header("Content-Type").value_or(""))), text(wanted.answerType));
        if (wanted.json().is_discarded())
            QCOMPARE(text(got.body).trimmed(), text(wanted.answer));
        else
            QVERIFY2(json::parse(got.body) == wanted.json(), got.body.c_str());
    }

    void livePagesHaveTheRecordedMembers_data()
    {
        QTest::addColumn<QString>("name");
        for (const char *name :
             {"01-idle-api-version", "01-idle-cluster-metadata", "01-idle-cluster-status-format1",
              "01-idle-component-activities", "01-idle-grafana-health", "01-idle-prometheus-health",
              "01-idle-prometheus-sd", "01-idle-timezone", "05-state-v0-bad-filter",
              "01-idle-v0-nodes-plain"})
            QTest::newRow(name) << QString::fromLatin1(name);
    }

    void livePagesHaveTheRecordedMembers()
    {
        QFETCH(QString, name);
        Recording wanted = recording(name);
        QVERIFY(wanted.status != 0);
        RayStand stand;
        const HttpResponse got = stand.replay(wanted);
        QCOMPARE(got.status, wanted.status);
        json recorded = wanted.json();
        if (name.contains("v0-nodes")) { // maps by resource and label: of each node its own
            for (json &node : recorded["data"]["result"]["result"])
                node["resources_total"] = node["labels"] = json::object();
        }
        const auto missing = missingMembers(recorded, json::parse(got.body));
        QVERIFY2(missing.empty(), joined(missing));
    }

    void nodesAreListedInEachShape()
    {
        RayStand stand;
        stand.addWorker(2);
        const json list = stand.getJson("/api/v0/nodes?detail=1")["data"]["result"];
        QCOMPARE(list["total"].get<int>(), 2);
        QCOMPARE(list["result"][1]["node_name"].get<std::string>(), std::string("worker-2"));
        QCOMPARE(list["result"][1]["resources_total"]["TPU"].get<double>(), 4.0);
        const json some = stand.getJson(
            "/api/v0/nodes?filter_keys=is_head_node&filter_predicates=%3D&filter_values=true");
        QCOMPARE(some["data"]["result"]["num_filtered"].get<int>(), 1);

        json recorded = recording(QStringLiteral("01-idle-nodes-summary")).json();
        json wanted = recorded["data"]["summary"][1]; // a worker's
        wanted["raylet"]["resourcesTotal"] = wanted["raylet"]["labels"] = wanted["disk"] = json::object();
        const json summary = stand.getJson("/nodes?view=summary&nocache=1")["data"];
        const auto missing = missingMembers(wanted, summary["summary"][1]);
        QVERIFY2(missing.empty(), joined(missing));
        const std::string id = summary["summary"][1]["raylet"]["nodeId"];
        QVERIFY(summary["nodeLogicalResources"][id].get<std::string>().find("0.0/4.0 TPU")
                != std::string::npos);
        QCOMPARE(stand.getJson("/nodes/" + id)["data"]["detail"]["ip"].get<std::string>(),
                 std::string("127.0.0.2"));

        json status = recording(QStringLiteral("01-idle-cluster-status")).json();
        for (const char *map : {"activeNodes", "nodeTypeMapping"})
            status["data"]["clusterStatus"]["autoscalerReport"][map] = json::object();
        for (const char *map : {"usage", "usageByNode"})
            status["data"]["clusterStatus"]["loadMetricsReport"][map] = json::object();
        status["data"]["clusterStatus"]["loadMetricsReport"]["nodeTypes"] = json::array();
        const auto lacking = missingMembers(status, stand.getJson("/api/cluster_status"));
        QVERIFY2(lacking.empty(), joined(lacking));
    }

    void anApplicationsDetailsHaveTheRecordedMembers()
    {
        RayStand stand;
        stand.addWorker(2);
        stand.putServe(picturesOnProcessors({{"num_replicas", 2}}));
        QTRY_COMPARE_WITH_TIMEOUT(text(stand.appStatus("sd")), QStringLiteral("RUNNING"), 20000);
        const json got = stand.serveDetails();
        json recorded = recording(QStringLiteral("02-serve-get-running")).json();
        json wanted = recorded["applications"]["echo"];
        json deployment = wanted["deployments"]["Echo"];
        deployment["deployment_config"]["ray_actor_options"] = deployment["required_resources"]
            = json::object();
        for (const char *map : {"deployments", "deployed_app_config"})
            wanted[map] = json::object();
        wanted["deployment_topology"]["nodes"] = json::object();
        const json app = got["applications"]["sd"];
        auto missing = missingMembers(wanted, app);
        QVERIFY2(missing.empty(), joined(missing));
        missing = missingMembers(deployment, app["deployments"]["StableDiffusionV2"]);
        QVERIFY2(missing.empty(), joined(missing));
        recorded["applications"] = recorded["proxies"] = json::object();
        missing = missingMembers(recorded, got);
        QVERIFY2(missing.empty(), joined(missing));
        QCOMPARE(got["proxies"].size(), std::size_t{2});
        QCOMPARE(stand.getJson("/api/serve/applications/?api_type=imperative")["applications"].size(),
                 std::size_t{0});
        const json actors = stand.getJson("/api/v0/actors?limit=50")["data"]["result"]["result"];
        QCOMPARE(actors.size(), std::size_t{6}); // controller, two proxies, three replicas
        const auto lacking = missingMembers(
            recording(QStringLiteral("03-traffic-v0-actors")).json()["data"]["result"]["result"], actors);
        QVERIFY2(lacking.empty(), joined(lacking));
        QCOMPARE(stand.getJson("/logical/actors")["data"]["actors"].size(), std::size_t{6});
    }

    void anUnknownApplicationFailsInTheRecordedShape()
    {
        RayStand stand;
        const Recording put = recording(QStringLiteral("02-serve-put-unknown-field"));
        const HttpResponse answer = stand.replay(put);
        QCOMPARE(answer.status, 200);
        QVERIFY(answer.body.empty());
        QTRY_COMPARE_WITH_TIMEOUT(text(stand.appStatus("x")), QStringLiteral("DEPLOY_FAILED"), 20000);
        const json app = stand.serveDetails()["applications"]["x"];
        const json wanted
            = recording(QStringLiteral("02-serve-get-deploy-failed")).json()["applications"]["broken"];
        json shape = wanted;
        shape["deployed_app_config"] = json::object();
        const auto missing = missingMembers(shape, app);
        QVERIFY2(missing.empty(), joined(missing));
        QVERIFY(app["route_prefix"].is_null());
        QVERIFY(!app["deployed_app_config"].contains("colour"));
        QVERIFY(text(app["message"]).endsWith("ModuleNotFoundError: No module named 'rayapp'"));
    }

    void aPictureComesThroughEachNodesProxy()
    {
        RayStand stand;
        stand.addWorker(2);
        const auto proxy = [&stand] { return stand.ports().proxy; };
        QCOMPARE(proxy(), static_cast<unsigned short>(0)); // no Serve before the first config
        json config = picturesOnProcessors();
        config["http_options"] = {{"port", 18000 + QCoreApplication::applicationPid() % 20000}};
        stand.putServe(config);
        QTRY_VERIFY_WITH_TIMEOUT(proxy() != 0, 20000);
        QTRY_COMPARE_WITH_TIMEOUT(text(stand.appStatus("sd")), QStringLiteral("RUNNING"), 20000);
        QCOMPARE(text(stand.ask("GET", proxy(), "/-/healthz").body), QStringLiteral("success"));
        QCOMPARE(text(stand.ask("GET", proxy(), "/-/routes").body), QStringLiteral("{\"/\":\"sd\"}"));
        for (const char *host : {"127.0.0.1", "127.0.0.2"}) {
            HttpResponse answer;
            QTRY_VERIFY_WITH_TIMEOUT(
                (answer = stand.ask("GET", proxy(), "/imagine?prompt=a%20cat&img_size=64", {}, {}, host))
                        .status
                    == 200,
                20000);
            QCOMPARE(text(std::string(answer.header("content-type").value_or(""))),
                     QStringLiteral("image/png"));
            QVERIFY(answer.body.starts_with("\x89PNG"));
            QVERIFY(answer.header("x-request-id").has_value());
        }
        QCOMPARE(stand.ask("GET", proxy(), "/imagine").status, 422);
        QCOMPARE(stand.ask("POST", proxy(), "/imagine?prompt=x").status, 405);
        const Recording unknown = recording(QStringLiteral("03-traffic-echo-unknown-route"));
        const HttpResponse answer = stand.replay(unknown);
        QCOMPARE(answer.status, unknown.status);
        QCOMPARE(text(answer.body), text(unknown.answer));

        const std::string page = stand.ask("GET", stand.ports().metrics, "/metrics").body;
        for (const char *series :
             {"ray_node_mem_total{", "ray_resources{", "ray_serve_num_http_requests_total{",
              "ray_serve_http_request_latency_ms_bucket{", "ray_serve_application_status{",
              "ray_serve_num_http_error_requests_total{", "ray_cluster_active_nodes{"})
            QVERIFY2(page.find(series) != std::string::npos, page.c_str());

        QCOMPARE(stand.ask("DELETE", stand.ports().dashboard, "/api/serve/applications/").status, 200);
        QVERIFY(stand.serveDetails()["applications"].empty());
        QTRY_COMPARE_WITH_TIMEOUT(proxy(), static_cast<unsigned short>(0), 20000);
    }

    void aWorkerThatEndsIsReplaced_data()
    {
        QTest::addColumn<bool>("isKilled");
        QTest::addColumn<QString>("message");
        QTest::newRow("killed")
            << true << "Unexpected termination: health check failed due to missing too many heartbeats";
        QTest::newRow("stopped") << false << "Expected termination: received SIGTERM";
    }

    void aWorkerThatEndsIsReplaced()
    {
        QFETCH(bool, isKilled);
        QFETCH(QString, message);
        RayStand stand;
        stand.addWorker(2);
        stand.addWorker(3);
        stand.putServe(
            {{"applications",
              json::array({{{"name", "sd"}, {"import_path", "stable_diffusion_tpu:deployment"}}})}});
        QTRY_COMPARE_WITH_TIMEOUT(text(stand.appStatus("sd")), QStringLiteral("RUNNING"), 20000);
        const auto modelAt = [&stand] {
            const json replicas
                = stand.serveDetails()["applications"]["sd"]["deployments"]["StableDiffusion"]["replicas"];
            return replicas.empty() ? QString() : text(replicas[0].value("node_ip", ""));
        };
        const QString before = modelAt();
        const std::size_t index = before == "127.0.0.2" ? 0 : 1;
        isKilled ? stand.killWorker(index) : stand.stopWorker(index);
        const auto dead = [&stand, &before] {
            const json nodes = stand.getJson("/api/v0/nodes")["data"]["result"]["result"];
            for (const json &node : nodes) {
                if (text(node["node_ip"]) == before && node["state"] == "DEAD")
                    return text(node["state_message"]);
            }
            return QString();
        };
        QTRY_COMPARE_WITH_TIMEOUT(dead(), message, 20000);
        QTRY_VERIFY_WITH_TIMEOUT(!modelAt().isEmpty() && modelAt() != before, 20000);
        QTRY_COMPARE_WITH_TIMEOUT(text(stand.appStatus("sd")), QStringLiteral("RUNNING"), 20000);
        QCOMPARE(stand.serveDetails()["proxies"].size(), std::size_t{2}); // of the head and the other one
        // In the summary a dead node has lost its name.
        const json nodes = stand.getJson("/nodes?view=summary")["data"]["summary"];
        const auto gone = std::find_if(nodes.begin(), nodes.end(),
                                       [](const json &one) { return one["raylet"]["state"] == "DEAD"; });
        QVERIFY(gone != nodes.end());
        QCOMPARE(text((*gone)["raylet"]["nodeName"]), QString());
        QCOMPARE(text((*gone)["raylet"]["stateMessage"]), message);
    }

    void jobsRunOnlyWhereTheyMay()
    {
        const json request{{"entrypoint", "echo hello; exit 3"}, {"submission_id", "j1"}};
        for (const bool isAllowed : {false, true}) {
            RayStand stand(isAllowed);
            const int port = stand.ports().dashboard;
            const auto submit = [&](const json &body) {
                return stand.ask("POST", port, "/api/jobs/", body.dump(), "application/json");
            };
            QVERIFY(json::parse(submit(request).body) == (json{{"job_id", "j1"}, {"submission_id", "j1"}}));
            QCOMPARE(submit(request).status, 500); // the same id again
            QVERIFY(submit(request).body.find("already exists. Please use a different submission_id.")
                    != std::string::npos);
            QTRY_COMPARE_WITH_TIMEOUT(text(stand.getJson("/api/jobs/j1")["status"]), QStringLiteral("FAILED"),
                                      20000);
            const json job = stand.getJson("/api/jobs/j1");
            const auto missing = missingMembers(recording(QStringLiteral("04-jobs-get-failed")).json(), job);
            QVERIFY2(missing.empty(), joined(missing));
            const std::string logs = stand.getJson("/api/jobs/j1/logs")["logs"];
            if (isAllowed) {
                QCOMPARE(job["driver_exit_code"].get<int>(), 3);
                QVERIFY(logs.find("\nhello\n") != std::string::npos);
            } else {
                QVERIFY(text(job["message"]).contains("--allow-processes"));
                QVERIFY(logs.find("\nhello\n") == std::string::npos);
            }
            QVERIFY(stand.getJson("/events")["data"]["events"].contains("global"));
            QVERIFY(json::parse(stand.ask("DELETE", port, "/api/jobs/j1").body) == (json{{"deleted", true}}));
        }
    }

    void aJobCanBeStopped()
    {
        RayStand stand(true);
        const int port = stand.ports().dashboard;
        stand.ask("POST", port, "/api/jobs/", R"({"entrypoint":"sleep 100","submission_id":"j"})");
        QCOMPARE(stand.ask("DELETE", port, "/api/jobs/j").status, 500);
        QVERIFY(json::parse(stand.ask("POST", port, "/api/jobs/j/stop").body) == (json{{"stopped", true}}));
        QTRY_COMPARE_WITH_TIMEOUT(text(stand.getJson("/api/jobs/j")["status"]), QStringLiteral("STOPPED"),
                                  20000);
        QVERIFY(json::parse(stand.ask("POST", port, "/api/jobs/j/stop").body) == (json{{"stopped", false}}));
    }

    void wrongJobsAreRefusedAsRecorded_data()
    {
        QTest::addColumn<QString>("name");
        QTest::newRow("entrypoint is no text") << "04-jobs-submit-bad-body";
        QTest::newRow("no entrypoint") << "04-jobs-submit-no-entrypoint";
    }

    void wrongJobsAreRefusedAsRecorded()
    {
        QFETCH(QString, name);
        const Recording wanted = recording(name);
        RayStand stand;
        const HttpResponse got = stand.replay(wanted);
        QCOMPARE(got.status, wanted.status);
        QCOMPARE(text(got.body).section('\n', -1), text(wanted.answer).section('\n', -1));
    }
};

QTEST_GUILESS_MAIN(TestRayHead)
#include "tst_ray_head.moc"
