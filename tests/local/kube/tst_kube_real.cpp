// Our client against a real kube-apiserver over etcd.

#include "cluster/kube/discovery.h"
#include "cluster/kube/informer.h"
#include "tests/local/support/real_plane.h"

#include <QTest>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>

using namespace cluster;
using Json = nlohmann::json;

namespace {

Json configMap(const std::string &name, const std::string &value = "v")
{
    return Json{{"apiVersion", "v1"},
                {"kind", "ConfigMap"},
                {"metadata", {{"name", name}, {"labels", {{"test", "yes"}}}}},
                {"data", {{"key", value}}}};
}

ResourcePath configMaps(const std::string &nameSpace = "default")
{
    return coreV1("configmaps", nameSpace);
}

KubeApplyOptions appliedBy(const std::string &manager, bool force = false)
{
    KubeApplyOptions options;
    options.fieldManager = manager;
    options.force = force;
    return options;
}

} // namespace

class TestKubeReal : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        m_plane = std::make_unique<tests::RealPlane>(false);
        if (!m_plane->missing().empty())
            QSKIP(m_plane->missing().c_str());
        QVERIFY2(m_plane->failure().empty(), m_plane->failure().c_str());
    }

    void cleanupTestCase() { m_plane.reset(); }

    void objectsAreMadeReadChangedAndDeleted()
    {
        KubeClient &client = m_plane->client();
        const auto made = client.create(configMaps(), configMap("life"));
        QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
        QCOMPARE(client.create(configMaps(), configMap("life")).error().code, ErrorCode::AlreadyExists);

        const ResourcePath path = configMaps().named("life");
        QVERIFY(client.patch(path, PatchType::Merge, {{"data", {{"key", "w"}}}}).has_value());
        QVERIFY(client
                    .patch(path, PatchType::Json,
                           Json::array({{{"op", "test"}, {"path", "/data/key"}, {"value", "w"}},
                                        {{"op", "add"}, {"path", "/data/more"}, {"value", "x"}}}))
                    .has_value());
        const auto read = client.get(path);
        QVERIFY(read->at("data") == (Json{{"key", "w"}, {"more", "x"}}));

        Json stale = *made;
        stale["data"]["key"] = "stale";
        QCOMPARE(client.update(path, stale).error().code, ErrorCode::Aborted);
        KubeDeleteOptions other;
        other.uid = "not-this-one";
        QCOMPARE(client.remove(path, other).error().code, ErrorCode::Aborted);
        QVERIFY(client.remove(path).has_value());
        QCOMPARE(client.get(path).error().code, ErrorCode::NotFound);
    }

    void aConflictOfManagersIsNamed()
    {
        KubeClient &client = m_plane->client();
        const ResourcePath path = configMaps().named("shared");
        const auto value = [](const char *text) {
            Json object = configMap("shared", text);
            return object;
        };
        QVERIFY(client.apply(path, value("a"), appliedBy("first")).has_value());
        KubeStatus failure;
        KubeApplyOptions second = appliedBy("second");
        second.failure = &failure;
        const auto refused = client.apply(path, value("b"), second);
        QCOMPARE(refused.error().code, ErrorCode::Aborted);
        QVERIFY(refused.error().message.find("first") != std::string::npos);
        QVERIFY(!failure.causes.empty());
        QCOMPARE(failure.causes[0].reason, std::string("FieldManagerConflict"));
        QVERIFY(client.apply(path, value("b"), appliedBy("second", true)).has_value());
        QVERIFY(client.get(path)->at("data").at("key") == "b");
    }

    void whatTheServerRefusesIsTyped()
    {
        KubeClient &client = m_plane->client();
        QCOMPARE(client.create(configMaps(), configMap("Not_A_Name")).error().code,
                 ErrorCode::InvalidArgument);
        QCOMPARE(client.get(apiGroup("nope.io", "v1", "nopes")).error().code, ErrorCode::NotFound);
        Json typo = configMap("typo");
        typo["dataa"] = "x";
        KubeWriteOptions strict;
        strict.fieldValidation = "Strict";
        QCOMPARE(client.create(configMaps(), typo, strict).error().code, ErrorCode::InvalidArgument);

        KubeEndpoint stranger = client.endpoint();
        stranger.token = "wrong";
        HttpClient http;
        QCOMPARE(KubeClient(http, stranger).get(coreV1("nodes")).error().code, ErrorCode::Unauthenticated);
    }

    void aClientCertificateIsAnIdentityToo()
    {
        const auto pki = m_plane->endpoint().caFile.parent_path();
        KubeEndpoint endpoint = m_plane->client().endpoint();
        endpoint.token.clear();
        HttpClient http;
        // Without one it is a stranger.
        QVERIFY(KubeClient(http, endpoint).list(coreV1("secrets")).error().code == ErrorCode::Unauthenticated
                || KubeClient(http, endpoint).list(coreV1("secrets")).error().code
                    == ErrorCode::PermissionDenied);
        endpoint.clientCertFile = pki / "kubelet-client.crt";
        endpoint.clientKeyFile = pki / "kubelet-client.key";
        HttpClient fresh; // the other's connections are a stranger's
        const auto secrets = KubeClient(fresh, endpoint).list(coreV1("secrets"));
        QVERIFY2(secrets.has_value(), secrets ? "" : secrets.error().message.c_str());
        endpoint.clientKeyFile = pki / "not-there.key";
        HttpClient another;
        const auto broken = KubeClient(another, endpoint).list(coreV1("secrets"));
        QCOMPARE(broken.error().code, ErrorCode::FailedPrecondition);
        QVERIFY(broken.error().message.find("client certificate") != std::string::npos);
    }

    void twelveHundredObjectsAreListedInPagesAndWatchedOn()
    {
        KubeClient &client = m_plane->client();
        QVERIFY(client.create(coreV1("namespaces"), Json{{"metadata", {{"name", "many"}}}}).has_value());
        constexpr int count = 1200;
        for (int i = 0; i < count; ++i)
            QVERIFY(client.create(configMaps("many"), configMap("c" + std::to_string(i))).has_value());
        KubeListOptions pages;
        pages.pageSize = 500;
        const auto list = client.list(configMaps("many"), pages);
        QVERIFY(list.has_value());
        QCOMPARE(list->items.size(), std::size_t{count});
        QVERIFY(list->isComplete);
        QVERIFY(list->items.back()["kind"] == "ConfigMap");
        pages.limit = 700;
        const auto some = client.list(configMaps("many"), pages);
        QCOMPARE(some->items.size(), std::size_t{700});
        QVERIFY(!some->isComplete);

        // What happens after a list is what a watch from its version tells.
        QVERIFY(client.remove(configMaps("many").named("c7")).has_value());
        KubeWatchOptions watch;
        watch.resourceVersion = list->resourceVersion;
        std::string gone;
        const auto version = client.watch(configMaps("many"), watch,
                                          [&](WatchEventType type, Json &object) -> Result<Reading> {
                                              if (type == WatchEventType::Deleted)
                                                  gone = object["metadata"]["name"].get<std::string>();
                                              return gone.empty() ? Reading::Continue : Reading::Stop;
                                          });
        QVERIFY(version.has_value());
        QCOMPARE(gone, std::string("c7"));
    }

    /// A server that starts again has no history in its cache: versions from before are refused with 410, as
    /// after a compaction.
    void aVersionThatTheServerHasForgottenIsRefusedAndAnInformerListsAgain()
    {
        KubeClient &client = m_plane->client();
        Json object = configMap("forgotten");
        object["metadata"]["labels"] = {{"epoch", "one"}};
        QVERIFY(client.create(configMaps(), object).has_value());
        const auto before = client.list(configMaps());
        QVERIFY(before.has_value());
        std::atomic<int> added = 0;
        std::atomic<int> deleted = 0;
        Informer::Handlers handlers;
        handlers.onEvent = [&](const InformerEvent &event) {
            ++(event.type == InformerEventType::Deleted ? deleted : added);
        };
        InformerOptions options;
        options.labelSelector = "epoch=one";
        Informer informer(client, configMaps(), handlers, options);
        QVERIFY(informer.waitForSync(Deadline::after(std::chrono::seconds(60))));
        QCOMPARE(added.load(), 1);

        for (int i = 0; i < 20; ++i) // so that the version of before is not the newest
            QVERIFY(client.create(configMaps(), configMap("later" + std::to_string(i))).has_value());
        QVERIFY2(m_plane->restart(), m_plane->failure().c_str());
        QVERIFY(client.remove(configMaps().named("forgotten")).has_value());
        KubeWatchOptions old;
        old.resourceVersion = before->resourceVersion;
        old.timeout = std::chrono::seconds(5);
        const auto version = client.watch(
            configMaps(), old, [](WatchEventType, Json &) -> Result<Reading> { return Reading::Continue; });
        QVERIFY(!version);
        QCOMPARE(version.error().code, ErrorCode::FailedPrecondition);
        QTRY_COMPARE_WITH_TIMEOUT(deleted.load(), 1, 60000);
        QCOMPARE(added.load(), 1);
    }

    void anInformerFollowsTheServer()
    {
        KubeClient &client = m_plane->client();
        std::mutex mutex;
        std::vector<std::string> told;
        Informer::Handlers handlers;
        handlers.onEvent = [&](const InformerEvent &event) {
            const char *types[] = {"+", "~", "-"};
            const std::lock_guard lock(mutex);
            told.push_back(types[static_cast<int>(event.type)]
                           + event.object->at("metadata").at("name").get<std::string>());
        };
        InformerOptions options;
        options.labelSelector = "informed=yes";
        Informer informer(client, configMaps(), handlers, options);
        QVERIFY(informer.waitForSync(Deadline::after(std::chrono::seconds(60))));
        Json object = configMap("seen");
        object["metadata"]["labels"] = {{"informed", "yes"}};
        QVERIFY(client.create(configMaps(), object).has_value());
        QVERIFY(client.patch(configMaps().named("seen"), PatchType::Merge, {{"data", {{"key", "2"}}}})
                    .has_value());
        // An object that no longer matches the selector is gone for this informer.
        QVERIFY(client
                    .patch(configMaps().named("seen"), PatchType::Merge,
                           {{"metadata", {{"labels", {{"informed", "no"}}}}}})
                    .has_value());
        const std::vector<std::string> expected{"+seen", "~seen", "-seen"};
        const auto soFar = [&] {
            const std::lock_guard lock(mutex);
            return told;
        };
        QTRY_COMPARE_WITH_TIMEOUT(soFar(), expected, 30000);
        informer.stop();
    }

    void manifestsAreAppliedByDiscovery()
    {
        Discovery discovery(m_plane->client());
        const auto documents = parseManifests(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx, ports: [{containerPort: 80}]}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: made}
)");
        QVERIFY(documents.has_value());
        for (const Json &document : *documents) {
            const auto applied = discovery.apply(document, appliedBy("test"));
            QVERIFY2(applied.has_value(), applied ? "" : applied.error().message.c_str());
        }
        KubeClient &client = m_plane->client();
        const ResourcePath web = apiGroup("apps", "v1", "deployments", "default", "web");
        const auto scale = client.patch(web.sub("scale"), PatchType::Merge, {{"spec", {{"replicas", 5}}}});
        QVERIFY(scale.has_value());
        QVERIFY(client.get(web)->at("spec").at("replicas") == 5);
        QVERIFY(client.patchStatus(web, {{"replicas", 3}}).has_value());
        QVERIFY(client.get(web)->at("status").at("replicas") == 3);
        QCOMPARE(discovery.find("ray.io/v1", "RayCluster").error().code, ErrorCode::NotFound);
    }

private:
    std::unique_ptr<tests::RealPlane> m_plane;
};

QTEST_GUILESS_MAIN(TestKubeReal)
#include "tst_kube_real.moc"
