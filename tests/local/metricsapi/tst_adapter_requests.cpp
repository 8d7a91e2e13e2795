#include "cluster/base/low_port.h"
#include "cluster/httpd/request_target.h"
#include "cluster/local/metricsapi/adapter_pages.h"
#include "cluster/local/metricsapi/metadata_client.h"
#include "cluster/local/metricsapi/metric_route.h"
#include "cluster/local/metricsapi/request_review.h"

#include <QTest>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

namespace {

ServerRequest requestFor(const std::string &target)
{
    ServerRequest request;
    request.method = "GET";
    request.target = target;
    if (!readTarget(target, request))
        qFatal("not a target: %s", target.c_str());
    return request;
}

json configMap()
{
    return {{"data",
             {{"requestheader-client-ca-file", "-----BEGIN CERTIFICATE-----"},
              {"requestheader-allowed-names", R"(["front-proxy-client"])"},
              {"requestheader-username-headers", R"(["X-Remote-User"])"},
              {"requestheader-group-headers", R"(["X-Remote-Group"])"},
              {"requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])"}}}};
}

} // namespace

class TestAdapterRequests : public QObject
{
    Q_OBJECT

private slots:
    void pathsAsTheHpaControllerSendsThem();
    void otherPathsAreNoMetrics();
    void discoveryNamesBothGroups();
    void theFrontProxyIsBelieved();
    void nobodyElseSpeaksForOthers();
    void aConfigMapOfAnotherForm();
    void tokensOfTheMetadataServer();
    void lowPortsHaveASubstitute();
};

void TestAdapterRequests::pathsAsTheHpaControllerSendsThem()
{
    const auto route = metricRoute(requestFor(
        "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods/%2A/"
        "prometheus.googleapis.com%7Cvllm:num_requests_waiting%7Cgauge?labelSelector="
        "leaderworkerset.sigs.k8s.io%2Fname%3Dvllm%2Cleaderworkerset.sigs.k8s.io%2Fworker-index%3D0"));
    QVERIFY(route && route->custom);
    QCOMPARE(route->custom->metric, std::string("prometheus.googleapis.com|vllm:num_requests_waiting|gauge"));
    QCOMPARE(route->custom->nameSpace, std::string("default"));
    QCOMPARE(route->custom->name, std::string("*"));
    QCOMPARE(route->custom->selector,
             std::string("leaderworkerset.sigs.k8s.io/name=vllm,"
                         "leaderworkerset.sigs.k8s.io/worker-index=0"));
    QCOMPARE(route->verb, std::string("get"));
    const auto external = metricRoute(requestFor(
        "/apis/external.metrics.k8s.io/v1beta1/namespaces/ns/a%7Cb?labelSelector=metric.labels.x%3D1"));
    QVERIFY(external && external->external);
    QCOMPARE(external->external->metric, std::string("a|b"));
    QCOMPARE(external->verb, std::string("list"));
    const auto node = metricRoute(requestFor("/apis/custom.metrics.k8s.io/v1beta1/nodes/n1/m"));
    QVERIFY(node && node->custom && node->custom->nameSpace.empty() && node->custom->resource == "nodes");
    const auto space = metricRoute(requestFor("/apis/custom.metrics.k8s.io/v1beta1/namespaces/ns/metrics/m"));
    QVERIFY(space && space->custom && space->custom->resource == "namespaces" && space->custom->name == "ns");
}

void TestAdapterRequests::otherPathsAreNoMetrics()
{
    for (const char *path :
         {"/", "/apis", "/apis/custom.metrics.k8s.io/v1beta2", "/apis/custom.metrics.k8s.io/v2/nodes/n/m",
          "/apis/external.metrics.k8s.io/v1beta2/namespaces/ns/m",
          "/apis/custom.metrics.k8s.io/v1beta2/nodes/n",
          "/apis/custom.metrics.k8s.io/v1beta2/namespaces/ns/pods//m",
          "/apis/metrics.k8s.io/v1beta1/nodes/n/m"})
        QVERIFY2(!metricRoute(requestFor(path)), path);
}

void TestAdapterRequests::discoveryNamesBothGroups()
{
    const auto plain = adapterDiscovery("/apis", false);
    QVERIFY(plain);
    QCOMPARE(plain->at("groups").size(), 2U);
    QVERIFY(plain->at("groups").at(0).at("preferredVersion").at("version") == "v1beta2");
    const auto aggregated = adapterDiscovery("/apis", true);
    QVERIFY(aggregated && aggregated->at("kind") == "APIGroupDiscoveryList");
    const json first = aggregated->at("items").at(0).at("versions").at(0);
    QVERIFY(first.at("version") == "v1beta2");
    QVERIFY(first.at("resources").at(0).at("subresources").at(0).at("responseKind").at("kind")
            == "MetricValueList");
    const auto custom = adapterDiscovery("/apis/custom.metrics.k8s.io/v1beta1", false);
    QVERIFY(custom && custom->at("resources").at(0).at("name") == "*/prometheus.googleapis.com|up|gauge");
    const auto external = adapterDiscovery("/apis/external.metrics.k8s.io/v1beta1", false);
    QVERIFY(external && external->at("resources").at(0).at("name") == "externalmetrics");
    QVERIFY(!adapterDiscovery("/apis/external.metrics.k8s.io/v1beta2", false));
    QVERIFY(!adapterDiscovery("/openapi/v2", false));
}

void TestAdapterRequests::theFrontProxyIsBelieved()
{
    const auto proxy = frontProxyOf(configMap());
    QVERIFY2(proxy, proxy ? "" : proxy.error().message.c_str());
    ServerRequest request = requestFor("/apis");
    request.peerCommonName = "front-proxy-client";
    request.headers = {{"x-remote-user", "system:serviceaccount:kube-system:horizontal-pod-autoscaler"},
                       {"X-Remote-Group", "system:serviceaccounts"},
                       {"X-Remote-Group", "system:authenticated"},
                       {"X-Remote-Extra-Authentication.kubernetes.io%2fcredential-Id", "JTI=1"}};
    const auto user = proxiedUser(request, *proxy);
    QVERIFY(user);
    QCOMPARE(user->name, std::string("system:serviceaccount:kube-system:horizontal-pod-autoscaler"));
    QCOMPARE(user->groups.size(), 2U);
    QCOMPARE(user->extra.begin()->first, std::string("authentication.kubernetes.io/credential-id"));
}

void TestAdapterRequests::nobodyElseSpeaksForOthers()
{
    const auto proxy = frontProxyOf(configMap());
    QVERIFY(proxy);
    ServerRequest request = requestFor("/apis");
    request.headers = {{"X-Remote-User", "system:admin"}, {"X-Remote-Group", "system:masters"}};
    QVERIFY(!proxiedUser(request, *proxy)); // no certificate at all
    request.peerCommonName = "kube-apiserver-kubelet-client"; // of the same authority, another name
    QVERIFY(!proxiedUser(request, *proxy));
    request.peerCommonName = "front-proxy-client";
    QVERIFY(proxiedUser(request, *proxy));
    request.headers.clear();
    QVERIFY(!proxiedUser(request, *proxy));
}

void TestAdapterRequests::aConfigMapOfAnotherForm()
{
    for (const json &wrong :
         {json(), json::array(), json{{"data", json::object()}}, json{{"data", {{"a", 1}}}}})
        QVERIFY2(!frontProxyOf(wrong), wrong.dump().c_str());
    json map = configMap();
    map["data"]["requestheader-allowed-names"] = "front-proxy-client";
    QVERIFY(!frontProxyOf(map));
}

void TestAdapterRequests::tokensOfTheMetadataServer()
{
    const auto token = parseMetadataToken(R"({"access_token":"t","expires_in":3599,"token_type":"Bearer"})");
    QVERIFY(token && token->text == "t" && token->lifetime == std::chrono::seconds(3599));
    for (const char *wrong : {"", "{}", R"({"access_token":""})", R"({"access_token":"t","expires_in":"x"})"})
        QVERIFY2(!parseMetadataToken(wrong), wrong);
}

void TestAdapterRequests::lowPortsHaveASubstitute()
{
    QCOMPARE(substituteOfLowPort(443), std::uint16_t(20443));
    QCOMPARE(substituteOfLowPort(1023), std::uint16_t(21023));
    QCOMPARE(substituteOfLowPort(1024), std::uint16_t(0));
    QCOMPARE(substituteOfLowPort(20443), std::uint16_t(0));
    QCOMPARE(substituteOfLowPort(0), std::uint16_t(0));
}

QTEST_GUILESS_MAIN(TestAdapterRequests)
#include "tst_adapter_requests.moc"
