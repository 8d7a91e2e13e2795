#include "cluster/kube/discovery.h"
#include "cluster/kube/kube_client.h"
#include "tests/support/loopback_server.h"

#include <QTest>
#include <atomic>
#include <nlohmann/json.hpp>

using namespace cluster;
using Json = nlohmann::json;
using tests::Exchange;
using tests::LoopbackServer;

namespace {

const std::string secret = "very-secret-token";

KubeEndpoint endpointAt(const std::string &url)
{
    KubeEndpoint endpoint;
    endpoint.url = url;
    endpoint.token = secret;
    return endpoint;
}

/// One API server whose answers a test scripts, and its client.
struct Fixture
{
    explicit Fixture(LoopbackServer::Handler handler) : server(std::move(handler)) {}

    LoopbackServer server;
    HttpClient http;
    KubeClient client{http, endpointAt(server.url())};
};

std::string statusBody(int code, const std::string &reason, const std::string &message)
{
    return Json{{"kind", "Status"},
                {"apiVersion", "v1"},
                {"status", "Failure"},
                {"reason", reason},
                {"message", message},
                {"details",
                 {{"name", "x"},
                  {"kind", "pods"},
                  {"causes", {{{"reason", "Because"}, {"message", "why"}, {"field", "spec.a"}}}}}},
                {"code", code}}
        .dump();
}

Json pod(const std::string &name)
{
    return Json{{"metadata", {{"name", name}}}};
}

} // namespace

class TestKubeClient : public QObject
{
    Q_OBJECT

private slots:
    void pathsAreThoseOfTheApi()
    {
        QCOMPARE(coreV1("nodes").text(), std::string("/api/v1/nodes"));
        QCOMPARE(coreV1("pods", "default", "web-0").sub("status").text(),
                 std::string("/api/v1/namespaces/default/pods/web-0/status"));
        QCOMPARE(apiGroup("apps", "v1", "deployments").text(), std::string("/apis/apps/v1/deployments"));
        QCOMPARE(coreV1("nodes").named("n").sub("proxy/metrics").text(),
                 std::string("/api/v1/nodes/n/proxy/metrics"));
    }

    void namesCanNotClimbOutOfTheirPath()
    {
        QCOMPARE(coreV1("pods", "a/b", "..").text(), std::string("/api/v1/namespaces/a%2Fb/pods/%2E%2E"));
        QCOMPARE(coreV1("pods", "d", "x?watch=1#f").text(),
                 std::string("/api/v1/namespaces/d/pods/x%3Fwatch%3D1%23f"));
    }

    void theTokenGoesInItsHeaderOnly()
    {
        Fixture f([](Exchange &exchange) {
            exchange.respond(403, "application/json", statusBody(403, "Forbidden", "no"));
        });
        const auto answer = f.client.get(coreV1("pods", "default", "x"));
        QVERIFY(!answer);
        QCOMPARE(answer.error().code, ErrorCode::PermissionDenied);
        QVERIFY(answer.error().message.find(secret) == std::string::npos);
        QCOMPARE(f.server.requests().at(0).headers.at("authorization"), "Bearer " + secret);
        QVERIFY(f.server.requests().at(0).target.find(secret) == std::string::npos);
    }

    void failuresAreTypedByReason_data()
    {
        QTest::addColumn<int>("http");
        QTest::addColumn<std::string>("reason");
        QTest::addColumn<int>("code");
        const auto row = [](int http, const char *reason, ErrorCode code) {
            QTest::addRow("%d %s", http, reason) << http << std::string(reason) << static_cast<int>(code);
        };
        row(404, "NotFound", ErrorCode::NotFound);
        row(409, "AlreadyExists", ErrorCode::AlreadyExists);
        row(409, "Conflict", ErrorCode::Aborted);
        row(410, "Expired", ErrorCode::FailedPrecondition);
        row(422, "Invalid", ErrorCode::InvalidArgument);
        row(401, "Unauthorized", ErrorCode::Unauthenticated);
        row(429, "TooManyRequests", ErrorCode::ResourceExhausted);
        row(504, "Timeout", ErrorCode::DeadlineExceeded);
        row(415, "", ErrorCode::Unimplemented);
        row(500, "InternalError", ErrorCode::Internal);
    }

    void failuresAreTypedByReason()
    {
        QFETCH(int, http);
        QFETCH(std::string, reason);
        QFETCH(int, code);
        Fixture f([=](Exchange &exchange) {
            exchange.respond(http, "application/json", statusBody(http, reason, "the server's words"));
        });
        KubeStatus failure;
        KubeWriteOptions options;
        options.retries = 0;
        options.failure = &failure;
        const auto answer = f.client.create(coreV1("pods", "default"), pod("x"), options);
        QVERIFY(!answer);
        QCOMPARE(static_cast<int>(answer.error().code), code);
        QVERIFY(answer.error().message.find("creating pods default/x") != std::string::npos);
        QVERIFY(answer.error().message.find("the server's words") != std::string::npos);
        QCOMPARE(failure.reason, reason);
        QCOMPARE(failure.causes.size(), std::size_t{1});
        QCOMPARE(failure.causes[0].field, std::string("spec.a"));
    }

    void aPlainTextRefusalIsQuoted()
    {
        Fixture f([](Exchange &exchange) { exchange.respond(404, "text/plain", "404 page not found\n"); });
        const auto answer = f.client.get(coreV1("nopes"));
        QCOMPARE(answer.error().code, ErrorCode::NotFound);
        QVERIFY(answer.error().message.ends_with("404 page not found"));
    }

    void anAnswerThatIsNoJsonIsDataLoss()
    {
        Fixture f([](Exchange &exchange) { exchange.respond(200, "text/html", "<html>login</html>"); });
        QCOMPARE(f.client.get(coreV1("nodes")).error().code, ErrorCode::DataLoss);
    }

    void a429WithRetryAfterIsTriedAgainEvenForAPost()
    {
        std::atomic<int> count = 0;
        Fixture f([&](Exchange &exchange) {
            if (++count < 3)
                exchange.respond(429, "application/json", statusBody(429, "TooManyRequests", "slow down"),
                                 {{"Retry-After", "0"}});
            else
                exchange.respond(201, "application/json", R"({"kind":"Pod"})");
        });
        QVERIFY(f.client.create(coreV1("pods", "default"), pod("x")).has_value());
        QCOMPARE(count.load(), 3);
    }

    void a500IsTriedAgainForAReadAndNotForAPost()
    {
        std::atomic<int> count = 0;
        Fixture f([&](Exchange &exchange) {
            ++count;
            exchange.respond(500, "application/json", statusBody(500, "InternalError", "etcd"));
        });
        KubeCallOptions twice;
        twice.retries = 2;
        QCOMPARE(f.client.get(coreV1("nodes"), twice).error().code, ErrorCode::Internal);
        QCOMPARE(count.load(), 3);
        QVERIFY(!f.client.create(coreV1("pods", "default"), pod("x")));
        QCOMPARE(count.load(), 4);
    }

    void aRetryAfterThatIsTooLongIsNotWaitedFor()
    {
        Fixture f([](Exchange &exchange) {
            exchange.respond(503, "text/plain", "busy", {{"Retry-After", "3600"}});
        });
        QCOMPARE(f.client.get(coreV1("nodes")).error().code, ErrorCode::Unavailable);
        QCOMPARE(f.server.requests().size(), std::size_t{1});
    }

    void waitingForARetryIsCancelled()
    {
        const auto cancel = std::make_shared<CancelSource>(); // by value GCC 12 takes it for uninitialized
        Fixture f([cancel](Exchange &exchange) {
            exchange.respond(503, "text/plain", "busy", {{"Retry-After", "10"}});
            cancel->request_stop();
        });
        KubeCallOptions options;
        options.cancel = cancel->get_token();
        QCOMPARE(f.client.get(coreV1("nodes"), options).error().code, ErrorCode::Cancelled);
    }

    void aListIsReadPageByPageAndItsItemsSayWhatTheyAre()
    {
        Fixture f([](Exchange &exchange) {
            const bool isFirst = exchange.request().target.find("continue=") == std::string::npos;
            exchange.respond(
                200, "application/json",
                isFirst
                    ? R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"a+/="},"items":[{"metadata":{"name":"a"}}]})"
                    : R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"b"}}]})");
        });
        KubeListOptions options;
        options.labelSelector = "app in (x,y)";
        options.pageSize = 1;
        const auto list = f.client.list(coreV1("pods"), options);
        QVERIFY(list.has_value());
        QCOMPARE(list->items.size(), std::size_t{2});
        QVERIFY(list->items[1]["kind"] == Json("Pod"));
        QCOMPARE(list->resourceVersion, std::string("7"));
        QVERIFY(list->isComplete);
        const auto requests = f.server.requests();
        QCOMPARE(requests[0].target,
                 std::string("/api/v1/pods?labelSelector=app%20in%20%28x%2Cy%29&limit=1"));
        QVERIFY(requests[1].target.ends_with("&limit=1&continue=a%2B%2F%3D"));
    }

    void aPageTokenThatExpiredStartsTheListAgain()
    {
        std::atomic<int> count = 0;
        Fixture f([&](Exchange &exchange) {
            const int call = ++count;
            if (call == 2)
                exchange.respond(410, "application/json", statusBody(410, "Expired", "too old"));
            else
                exchange.respond(200, "application/json",
                                 Json{{"kind", "PodList"},
                                      {"apiVersion", "v1"},
                                      {"metadata", {{"continue", call < 3 ? "t" : ""}}},
                                      {"items", Json::array({pod("a")})}}
                                     .dump());
        });
        const auto list = f.client.list(coreV1("pods"));
        QVERIFY(list.has_value());
        QCOMPARE(list->items.size(), std::size_t{1});
        QCOMPARE(count.load(), 3);
    }

    void aLimitEndsTheListAndSaysSo()
    {
        Fixture f([](Exchange &exchange) {
            exchange.respond(200, "application/json",
                             Json{{"kind", "PodList"},
                                  {"metadata", {{"continue", "t"}}},
                                  {"items", Json::array({pod("a"), pod("b")})}}
                                 .dump());
        });
        KubeListOptions options;
        options.limit = 2;
        const auto list = f.client.list(coreV1("pods"), options);
        QCOMPARE(list->items.size(), std::size_t{2});
        QVERIFY(!list->isComplete);
        QVERIFY(f.server.requests().at(0).target.ends_with("limit=2"));
    }

    void writesSendWhatTheApiWants()
    {
        Fixture f([](Exchange &exchange) { exchange.respond(200, "application/json", "{}"); });
        const ResourcePath web = apiGroup("apps", "v1", "deployments", "default", "web");
        KubeApplyOptions apply;
        apply.fieldManager = "me";
        apply.force = true;
        QVERIFY(f.client.apply(web, Json::object(), apply).has_value());
        QVERIFY(f.client.patch(web, PatchType::Strategic, Json::object()).has_value());
        QVERIFY(f.client.patchStatus(web, {{"replicas", 1}}).has_value());
        KubeDeleteOptions remove;
        remove.propagation = "Foreground";
        remove.uid = "u";
        remove.gracePeriodSeconds = 0;
        QVERIFY(f.client.remove(web, remove).has_value());

        const auto requests = f.server.requests();
        const std::string path = "/apis/apps/v1/namespaces/default/deployments/web";
        QCOMPARE(requests[0].target, path + "?fieldManager=me&force=true");
        QCOMPARE(requests[0].headers.at("content-type"), std::string("application/apply-patch+yaml"));
        QCOMPARE(requests[1].headers.at("content-type"),
                 std::string("application/strategic-merge-patch+json"));
        QCOMPARE(requests[2].target, path + "/status");
        QCOMPARE(requests[2].body, std::string(R"({"status":{"replicas":1}})"));
        QCOMPARE(requests[3].method, std::string("DELETE"));
        const Json body = Json::parse(requests[3].body);
        QVERIFY(body["propagationPolicy"] == Json("Foreground"));
        QVERIFY(body["preconditions"]["uid"] == Json("u"));
        QVERIFY(body["gracePeriodSeconds"] == Json(0));
    }

    void modifyReadsAgainAfterAConflict()
    {
        std::atomic<int> puts = 0;
        Fixture f([&](Exchange &exchange) {
            if (exchange.request().method == "PUT" && ++puts == 1)
                exchange.respond(409, "application/json", statusBody(409, "Conflict", "changed"));
            else
                exchange.respond(200, "application/json", R"({"metadata":{"name":"n","managedFields":[1]}})");
        });
        int changes = 0;
        const auto result = f.client.modify(coreV1("nodes").named("n"), [&](Json &node) {
            node["spec"]["unschedulable"] = true;
            ++changes;
            return true;
        });
        QVERIFY(result.has_value());
        QCOMPARE(changes, 2);
        QVERIFY(f.server.requests().back().body.find("managedFields") == std::string::npos);
    }

    void aWatchTellsEventsHoweverTheBytesAreCut()
    {
        Fixture f([](Exchange &exchange) {
            exchange.beginChunked(200, "application/json");
            const std::string all
                = R"({"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"5"}}})"
                  "\n"
                  R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})"
                  "\n";
            for (std::size_t i = 0; i < all.size(); i += 7)
                exchange.writeChunk(all.substr(i, 7));
            exchange.endChunks();
        });
        std::vector<std::string> seen;
        KubeWatchOptions options;
        options.resourceVersion = "4";
        const auto version = f.client.watch(
            coreV1("pods"), options, [&](WatchEventType type, Json &object) -> Result<Reading> {
                seen.push_back(type == WatchEventType::Bookmark ? "bookmark"
                                                                : object["metadata"].value("name", ""));
                return Reading::Continue;
            });
        QVERIFY(version.has_value());
        QCOMPARE(*version, std::string("9"));
        QCOMPARE(seen, (std::vector<std::string>{"a", "bookmark"}));
        QCOMPARE(f.server.requests().at(0).target,
                 std::string("/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=4"));
    }

    void anErrorEventOfAWatchIsItsError()
    {
        Fixture f([](Exchange &exchange) {
            exchange.beginChunked(200, "application/json");
            exchange.writeChunk(R"({"type":"ERROR","object":)" + statusBody(410, "Expired", "too old")
                                + "}\n");
            exchange.endChunks();
        });
        const auto version = f.client.watch(
            coreV1("pods"), {}, [](WatchEventType, Json &) -> Result<Reading> { return Reading::Continue; });
        QCOMPARE(version.error().code, ErrorCode::FailedPrecondition);
    }

    void kindsAreFoundByDiscoveryAndAskedForAgainWhenUnknown()
    {
        std::atomic<bool> hasCrd = false;
        Fixture f([&](Exchange &exchange) {
            Json groups = Json::array();
            const auto resource = [](const char *plural, const char *kind, const char *scope) {
                return Json{{"resource", plural}, {"responseKind", {{"kind", kind}}}, {"scope", scope}};
            };
            if (exchange.request().target == "/api")
                groups.push_back({{"metadata", Json::object()},
                                  {"versions",
                                   {{{"version", "v1"},
                                     {"resources", {resource("namespaces", "Namespace", "Cluster")}}}}}});
            else if (hasCrd)
                groups.push_back(
                    {{"metadata", {{"name", "ray.io"}}},
                     {"versions",
                      {{{"version", "v1"},
                        {"resources", {resource("rayservices", "RayService", "Namespaced")}}}}}});
            exchange.respond(200, "application/json",
                             Json{{"kind", "APIGroupDiscoveryList"}, {"items", groups}}.dump());
        });
        Discovery discovery(f.client);
        QCOMPARE(discovery.find("ray.io/v1", "RayService").error().code, ErrorCode::NotFound);
        hasCrd = true;
        const auto path = discovery.pathOf(
            Json{{"apiVersion", "ray.io/v1"}, {"kind", "RayService"}, {"metadata", {{"name", "llm"}}}});
        QVERIFY(path.has_value());
        QCOMPARE(path->text(), std::string("/apis/ray.io/v1/namespaces/default/rayservices/llm"));
        const auto space = discovery.pathOf(
            Json{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "a"}}}});
        QCOMPARE(space->text(), std::string("/api/v1/namespaces/a"));
        QCOMPARE(f.server.requests().size(), std::size_t{4});
    }
};

QTEST_GUILESS_MAIN(TestKubeClient)
#include "tst_kube_client.moc"
