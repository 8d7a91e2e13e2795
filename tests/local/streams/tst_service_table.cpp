#include "cluster/local/network/egress_proxy.h"
#include "cluster/local/network/service_table.h"

#include <QTest>
#include <nlohmann/json.hpp>
#include <set>

using namespace cluster;
using namespace cluster::local;
using Json = nlohmann::json;

namespace {

Json service(const std::string &name, const std::string &clusterIp, const Json &ports,
             const std::string &nameSpace = "default")
{
    return {{"metadata", {{"name", name}, {"namespace", nameSpace}}},
            {"spec", {{"clusterIP", clusterIp}, {"type", "ClusterIP"}, {"ports", ports}}}};
}

Json endpoint(const std::string &address, bool isReady = true, const std::string &hostName = {})
{
    Json object{{"addresses", Json::array({address})}, {"conditions", {{"ready", isReady}}}};
    if (!hostName.empty())
        object["hostname"] = hostName;
    return object;
}

Json slice(const std::string &name, const std::string &owner, const Json &ports, const Json &endpoints)
{
    return {{"metadata",
             {{"name", name}, {"namespace", "default"}, {"labels", {{"kubernetes.io/service-name", owner}}}}},
            {"ports", ports},
            {"endpoints", endpoints}};
}

const Json http = Json::array({{{"name", "http"}, {"port", 80}, {"protocol", "TCP"}}});
const Json http8000 = Json::array({{{"name", "http"}, {"port", 8000}, {"protocol", "TCP"}}});

} // namespace

class ServiceTableTest : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void readyEndpointsAreTakenInTurn();
    void aPortThatTheServiceHasNotIsNotFound();
    void aServiceWithoutReadyEndpointsIsUnavailable();
    void slicesMayComeBeforeTheirServiceAndOutliveIt();
    void anEndpointThatMovesToAnotherServiceLeavesTheFirst();
    void namesMeanWhatTheSearchListSays();
    void podsOfAHeadlessServiceHaveNames();
    void theHostsFileKnowsServicesAndPods();
    void addressesOutsideOfTheClusterAreNotBelieved();
    void objectsOfAnyShapeDoNoHarm();
    void aPinGoesBeforeWhatObjectsSay();
    void theEgressProxyGoesNowhereElse_data();
    void theEgressProxyGoesNowhereElse();

private:
    std::string resolved(std::string_view host, std::uint16_t port, std::string_view from = "default");

    AddressPlan m_plan = *AddressPlan::forCluster(0);
    std::unique_ptr<ServiceTable> m_table;
};

void ServiceTableTest::init()
{
    m_table = std::make_unique<ServiceTable>(m_plan);
}

std::string ServiceTableTest::resolved(std::string_view host, std::uint16_t port, std::string_view from)
{
    const auto address = Ipv4::parse(host);
    const auto target = address ? m_table->resolve(*address, port) : m_table->resolve(host, port, from);
    return target ? target->address.text() + ":" + std::to_string(target->port) : target.error().message;
}

void ServiceTableTest::readyEndpointsAreTakenInTurn()
{
    m_table->applyService(service("web", "10.201.0.9", http));
    m_table->applyEndpointSlice(
        slice("web-1", "web", http8000,
              Json::array({endpoint("10.16.0.1"), endpoint("10.16.0.2", false), endpoint("10.16.0.3")})));
    m_table->applyEndpointSlice(slice("web-2", "web", http8000, Json::array({endpoint("10.16.0.4")})));
    std::multiset<std::string> seen;
    for (int i = 0; i < 6; ++i)
        seen.insert(resolved("10.201.0.9", 80));
    const std::multiset<std::string> expected{"127.16.0.1:8000", "127.16.0.1:8000", "127.16.0.3:8000",
                                              "127.16.0.3:8000", "127.16.0.4:8000", "127.16.0.4:8000"};
    QVERIFY(seen == expected);
}

void ServiceTableTest::aPortThatTheServiceHasNotIsNotFound()
{
    m_table->applyService(service("web", "10.201.0.9", http));
    QCOMPARE(m_table->resolve(*Ipv4::parse("10.201.0.9"), 81).error().code, ErrorCode::NotFound);
    QCOMPARE(m_table->resolve(*Ipv4::parse("10.201.0.8"), 80).error().code, ErrorCode::NotFound);
}

void ServiceTableTest::aServiceWithoutReadyEndpointsIsUnavailable()
{
    m_table->applyService(service("web", "10.201.0.9", http));
    QCOMPARE(m_table->resolve(*Ipv4::parse("10.201.0.9"), 80).error().code, ErrorCode::Unavailable);
    m_table->applyEndpointSlice(slice("s", "web", http8000, Json::array({endpoint("10.16.0.1", false)})));
    QCOMPARE(m_table->resolve(*Ipv4::parse("10.201.0.9"), 80).error().code, ErrorCode::Unavailable);
}

void ServiceTableTest::slicesMayComeBeforeTheirServiceAndOutliveIt()
{
    int changes = 0;
    m_table->onChanged([&changes] { ++changes; });
    const Json early = slice("s", "web", http8000, Json::array({endpoint("10.16.0.1")}));
    m_table->applyEndpointSlice(early);
    m_table->applyEndpointSlice(early); // no change
    m_table->applyService(service("web", "10.201.0.9", http));
    QCOMPARE(resolved("10.201.0.9", 80), std::string("127.16.0.1:8000"));
    QCOMPARE(m_table->ports().size(), std::size_t{1});
    m_table->removeService("default", "web");
    QVERIFY(m_table->ports().empty());
    m_table->applyService(service("web", "10.201.0.10", http));
    QCOMPARE(resolved("10.201.0.10", 80), std::string("127.16.0.1:8000"));
    m_table->removeEndpointSlice("default", "s");
    m_table->removeEndpointSlice("default", "s"); // no change
    QCOMPARE(changes, 5);
    m_table->onChanged({});
}

void ServiceTableTest::anEndpointThatMovesToAnotherServiceLeavesTheFirst()
{
    m_table->applyService(service("a", "10.201.0.1", http));
    m_table->applyService(service("b", "10.201.0.2", http));
    m_table->applyEndpointSlice(slice("s", "a", http8000, Json::array({endpoint("10.16.0.1")})));
    m_table->applyEndpointSlice(slice("s", "b", http8000, Json::array({endpoint("10.16.0.1")})));
    QCOMPARE(m_table->resolve(*Ipv4::parse("10.201.0.1"), 80).error().code, ErrorCode::Unavailable);
    QCOMPARE(resolved("10.201.0.2", 80), std::string("127.16.0.1:8000"));
}

void ServiceTableTest::namesMeanWhatTheSearchListSays()
{
    m_table->applyService(service("web", "10.201.0.9", http));
    m_table->applyEndpointSlice(slice("s", "web", http8000, Json::array({endpoint("10.16.0.1")})));
    const std::string there = "127.16.0.1:8000";
    for (const char *name : {"web", "web.default", "web.default.svc", "web.default.svc.cluster.local",
                             "web.default.svc.cluster.local.", "WEB.Default"})
        QCOMPARE(resolved(name, 80), there);
    QCOMPARE(resolved("web.default", 80, "other"), there);
    for (const char *name : {"web.other", "", ".", "web..default", "svc.cluster.local", "example.com"})
        QVERIFY2(resolved(name, 80) != there, name);
    QVERIFY(resolved("web", 80, "other") != there);
}

void ServiceTableTest::podsOfAHeadlessServiceHaveNames()
{
    m_table->applyService(service("lws", "None", Json::array()));
    m_table->applyEndpointSlice(
        slice("s", "lws", Json::array(),
              Json::array({endpoint("10.16.0.1", true, "lws-0"), endpoint("10.16.0.2", true, "lws-1")})));
    QCOMPARE(resolved("lws-1.lws", 8476), std::string("127.16.0.2:8476"));
    QCOMPARE(resolved("lws-0.lws.default.svc.cluster.local", 1), std::string("127.16.0.1:1"));
    QCOMPARE(resolved("lws", 7), std::string("127.16.0.1:7"));
    QCOMPARE(resolved("lws", 7), std::string("127.16.0.2:7"));
    QVERIFY(m_table->ports().empty());
}

void ServiceTableTest::theHostsFileKnowsServicesAndPods()
{
    m_table->applyService(service("web", "10.201.0.9", http));
    m_table->applyService(service("lws", "None", Json::array()));
    m_table->applyEndpointSlice(
        slice("s", "lws", Json::array(),
              Json::array({endpoint("10.16.0.1", true, "lws-0"), endpoint("10.16.0.2", false)})));
    QCOMPARE(QString::fromStdString(m_table->hostsText("default")),
             QString("127.0.0.1 localhost\n"
                     "127.16.0.1 lws.default.svc.cluster.local lws.default.svc lws.default lws\n"
                     "127.16.0.1 lws-0.lws.default.svc.cluster.local lws-0.lws.default.svc lws-0.lws.default "
                     "lws-0.lws\n"
                     "127.201.0.9 web.default.svc.cluster.local web.default.svc web.default web\n"));
    QVERIFY(m_table->hostsText("other").find("web.default\n") != std::string::npos);
}

void ServiceTableTest::addressesOutsideOfTheClusterAreNotBelieved()
{
    m_table->applyService(service("web", "10.201.0.9", http));
    m_table->applyEndpointSlice(slice("s", "web", http8000,
                                      Json::array({endpoint("192.168.1.1"), endpoint("127.0.0.1"),
                                                   endpoint("10.24.0.1"), endpoint("fe80::1")})));
    QCOMPARE(m_table->resolve(*Ipv4::parse("10.201.0.9"), 80).error().code, ErrorCode::Unavailable);
}

void ServiceTableTest::objectsOfAnyShapeDoNoHarm()
{
    for (const char *text :
         {"null", "[]", "3", "{}", R"({"metadata":3,"spec":[]})", R"({"spec":{"ports":{}}})",
          R"({"metadata":{"name":1},"spec":{"clusterIP":2,"ports":[1,{"port":"x"},{"port":-1}]}})",
          R"({"endpoints":[{},{"addresses":3},{"addresses":[]},{"addresses":[1]}],"ports":[null]})"}) {
        m_table->applyService(Json::parse(text));
        m_table->applyEndpointSlice(Json::parse(text));
    }
    QVERIFY(m_table->ports().empty());
}

void ServiceTableTest::aPinGoesBeforeWhatObjectsSay()
{
    m_table->applyService(service("kubernetes", "10.201.0.1", http));
    m_table->pin(*Ipv4::parse("10.201.0.1"), 443, {*Ipv4::parse("127.0.0.1"), 6443, {}});
    QCOMPARE(resolved("10.201.0.1", 443), std::string("127.0.0.1:6443"));
    QCOMPARE(m_table->ports().size(), std::size_t{2});
}

void ServiceTableTest::theEgressProxyGoesNowhereElse_data()
{
    QTest::addColumn<QString>("asked");
    QTest::addColumn<QString>("target"); // "address:port from", or empty: refused
    QTest::newRow("kubelet") << "10.128.0.20:10250"
                             << "127.0.0.1:4000 127.128.0.20";
    QTest::newRow("host network") << "10.128.0.20:8000"
                                  << "127.128.0.20:8000 0.0.0.0";
    QTest::newRow("control plane") << "10.128.0.2:10250"
                                   << "127.128.0.2:10250 0.0.0.0";
    QTest::newRow("pod") << "10.16.0.5:80"
                         << "127.16.0.5:80 0.0.0.0";
    QTest::newRow("service") << "10.201.0.9:80"
                             << "127.16.0.1:8000 0.0.0.0";
    QTest::newRow("name") << "web.default.svc:80"
                          << "127.16.0.1:8000 0.0.0.0";
    QTest::newRow("other cluster's pod") << "10.24.0.5:80"
                                         << "";
    QTest::newRow("loopback") << "127.0.0.1:22"
                              << "";
    QTest::newRow("mapped loopback") << "10.0.0.1:22"
                                     << "";
    QTest::newRow("internet") << "93.184.216.34:80"
                              << "";
    QTest::newRow("unknown name") << "example.com:443"
                                  << "";
    QTest::newRow("localhost") << "localhost:22"
                               << "";
    QTest::newRow("IPv6") << "[::1]:22"
                          << "";
    QTest::newRow("no port") << "10.16.0.5"
                             << "";
    QTest::newRow("port 0") << "10.16.0.5:0"
                            << "";
    QTest::newRow("large port") << "10.16.0.5:65536"
                                << "";
    QTest::newRow("no number") << "10.16.0.5:+80"
                               << "";
    QTest::newRow("empty") << ""
                           << "";
}

void ServiceTableTest::theEgressProxyGoesNowhereElse()
{
    QFETCH(QString, asked);
    QFETCH(QString, target);
    m_table->applyService(service("web", "10.201.0.9", http));
    m_table->applyEndpointSlice(slice("s", "web", http8000, Json::array({endpoint("10.16.0.1")})));
    const EgressProxyOptions options{{}, m_plan, {*Ipv4::parse("127.0.0.1"), 4000, {}}};
    const auto result = egressTarget(asked.toStdString(), options, *m_table);
    QCOMPARE(result.has_value(), !target.isEmpty());
    if (result)
        QCOMPARE(QString::fromStdString(result->address.text() + ":" + std::to_string(result->port) + " "
                                        + result->from.text()),
                 target);
    else
        QCOMPARE(result.error().code, ErrorCode::PermissionDenied);
}

QTEST_APPLESS_MAIN(ServiceTableTest)
#include "tst_service_table.moc"
