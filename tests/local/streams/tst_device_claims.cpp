// Dynamic resource allocation as a kubelet and GKE's network driver do it: the real scheduler allocates, the
// agent prepares and unprepares.

#include "cluster/local/nodeagent/device_claims.h"
#include "cluster/local/nodeagent/network_claim.h"
#include "cluster/local/nodes/network_devices.h"
#include "tests/local/nodeagent/agent_stand.h"
#include "tests/local/nodeagent/pod_objects.h"

#include <QTest>
#include <fstream>

using namespace cluster;
using namespace cluster::local;
using namespace tests;

namespace {

const json driverLabel{{"cloud.google.com/gke-networking-dra-driver", "true"}};

ResourcePath claimPath(const std::string &name = {})
{
    return apiGroup("resource.k8s.io", "v1", "resourceclaims", "default", name);
}

json claimSpec(json config = json::array())
{
    json devices{{"requests",
                  json::array({{{"name", "net"},
                                {"exactly",
                                 {{"deviceClassName", "netdev.google.com"}, {"allocationMode", "All"}}}}})}};
    if (!config.empty())
        devices["config"] = std::move(config);
    return {{"devices", devices}};
}

json claimOf(const std::string &name, const json &config = json::array())
{
    return {{"apiVersion", "resource.k8s.io/v1"},
            {"kind", "ResourceClaim"},
            {"metadata", {{"name", name}}},
            {"spec", claimSpec(config)}};
}

/// A pod for the scheduler, on nodes of that name, with a claim of that source.
json podWith(const std::string &name, const std::string &node, const json &source, const std::string &script)
{
    json container = shell(script);
    container["resources"] = {{"claims", json::array({{{"name", "nics"}}})}};
    json spec = podOf(std::move(container));
    spec["automountServiceAccountToken"] = false;
    spec["nodeSelector"] = {{"role", node}};
    spec["tolerations"] = json::array({{{"operator", "Exists"}}});
    json claim = source;
    claim["name"] = "nics";
    spec["resourceClaims"] = json::array({claim});
    return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}}}, {"spec", spec}};
}

const std::string printing = "echo if=$SLIPWAY_NETWORK_INTERFACES at=$SLIPWAY_NETWORK_ADDRESS_NET1; "
                             "exec sleep 1000";

} // namespace

class TestDeviceClaims : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        m_plane = std::make_unique<RealPlane>(true);
        if (!m_plane->missing().empty())
            QSKIP(m_plane->missing().c_str());
        QVERIFY2(m_plane->failure().empty(), m_plane->failure().c_str());
        client().create(
            coreV1("serviceaccounts", "default"),
            {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}});
        m_stand = std::make_unique<AgentStand>(client(), client().endpoint().url, 10);
        NetworkDevices driver(client());
        QVERIFY(driver.installClasses({}).has_value());
        publish(driver, "n1", true);
        publish(driver, "bare", false);
        client().create(apiGroup("resource.k8s.io", "v1", "resourceclaimtemplates", "default"),
                        {{"apiVersion", "resource.k8s.io/v1"},
                         {"kind", "ResourceClaimTemplate"},
                         {"metadata", {{"name", "all-netdev"}}},
                         {"spec", {{"spec", claimSpec()}}}});
        m_stand->startAgent();
    }

    void cleanupTestCase()
    {
        m_stand.reset();
        m_plane.reset();
    }

    void aClaimOfATemplateIsPreparedBeforeTheContainerStarts()
    {
        create(podWith("worker", "n1", {{"resourceClaimTemplateName", "all-netdev"}}, printing));
        QVERIFY(m_stand->waitReady("worker"));
        const std::string log = m_stand->waitForLog("worker", "\n");
        QVERIFY2(log.starts_with("if=net1,net2 at=100."), log.c_str());
        const json pod = m_stand->pod("worker");
        QVERIFY(pod["metadata"]["annotations"]["slipway.dev/network-devices"]
                == json("net1,net2 (simulated)"));
        const json claim = claimNamed(generatedClaim(pod));
        const json devices = claim["status"].value("devices", json::array());
        QCOMPARE(devices.size(), std::size_t{2});
        for (const json &device : devices) {
            QVERIFY(device["driver"] == json("dra.net"));
            QVERIFY(device["pool"] == json("n1"));
            QVERIFY(device["networkData"]["interfaceName"] == device["device"]);
            QVERIFY(device["networkData"]["hardwareAddress"].get<std::string>().starts_with("42:01:64:"));
            QVERIFY(device["networkData"]["ips"][0].get<std::string>().ends_with("/32"));
            QVERIFY(device["conditions"][0]["type"] == json("Ready"));
            QVERIFY(device["conditions"][0]["reason"] == json("NetworkDeviceReady"));
        }
        QVERIFY(heldPods().contains(pod["metadata"]["uid"]));
    }

    void aLaterAgentGoesOnWithWhatWasPrepared()
    {
        const HeldClaims before = recorded();
        m_stand->dropAgent();
        // The driver's slice has gone meanwhile: what is prepared does not need it.
        NetworkDevices(client()).withdraw("n1", {});
        m_stand->startAgent();
        const json again = m_stand->waitFor("worker", [](const json &pod) {
            return firstStatus(pod)["restartCount"] == 1 && firstStatus(pod)["state"].contains("running");
        });
        QVERIFY(!again.is_null());
        QVERIFY(m_stand->waitForLog("worker", "\n").starts_with("if=net1,net2"));
        const HeldClaims after = recorded();
        QCOMPARE(after.size(), before.size());
        QVERIFY(after.begin()->second.preparedAt == before.begin()->second.preparedAt);
        NetworkDevices driver(client());
        publishSlice(driver, "n1");
    }

    void whatIsPreparedIsUnpreparedWhenThePodEnds()
    {
        const std::string uid = m_stand->pod("worker")["metadata"]["uid"];
        QVERIFY(heldPods().contains(uid));
        QVERIFY(client().remove(coreV1("pods", "default", "worker")).has_value());
        QVERIFY(m_stand->waitGone("worker"));
        QVERIFY(!heldPods().contains(uid)); // before it is told to be gone, as kubelet does it
    }

    void aPodThatMayNotUseAClaimWaitsAndSaysWhy()
    {
        client().create(claimPath(), claimOf("shared"));
        json early = podWith("early", "n1", {{"resourceClaimName", "shared"}}, printing);
        early["spec"]["nodeName"] = "n1"; // past the scheduler: nobody has allocated anything
        create(early);
        QVERIFY(m_stand->waitForEvent("early",
                                      "FailedPrepareDynamicResources: Failed to prepare dynamic resources: "
                                      "prepare dynamic resources: pod early ("));
        QVERIFY(m_stand->events("early").find("is not allowed to use ResourceClaim shared (")
                != std::string::npos);
        QVERIFY(m_stand->pod("early")["status"]["phase"] == json("Pending"));
        // One that the scheduler sees allocates it; then it is reserved for both.
        create(podWith("second", "n1", {{"resourceClaimName", "shared"}}, printing));
        QVERIFY(m_stand->waitReady("second"));
        QVERIFY(m_stand->waitReady("early"));
        const HeldClaims held = recorded();
        QCOMPARE(held.at("default/shared").pods.size(), std::size_t{2});
        // It stays prepared until the last of them has ended.
        QVERIFY(client().remove(coreV1("pods", "default", "early")).has_value());
        QVERIFY(m_stand->waitGone("early"));
        QCOMPARE(recorded().at("default/shared").pods.size(), std::size_t{1});
        QVERIFY(client().remove(coreV1("pods", "default", "second")).has_value());
        QVERIFY(m_stand->waitGone("second"));
        QVERIFY(recorded().empty());
    }

    void theClaimsOwnConfigurationNamesTheInterface()
    {
        const json config = json::array(
            {{{"requests", {"net"}},
              {"opaque",
               {{"driver", "dra.net"},
                {"parameters", {{"interface", {{"name", "fast/0"}, {"addresses", {"10.9.0.1"}}}}}}}}}});
        client().create(claimPath(), claimOf("wrong", config));
        create(podWith("misnamed", "n1", {{"resourceClaimName", "wrong"}}, printing));
        QVERIFY(
            m_stand->waitForEvent("misnamed", "NodePrepareResources failed for ResourceClaim wrong: claim "));
        const std::string said = m_stand->events("misnamed");
        QVERIFY2(said.find("name 'fast/0' cannot contain '/'") != std::string::npos, said.c_str());
        QVERIFY2(said.find("interface.addresses[0]: invalid IP CIDR format '10.9.0.1'") != std::string::npos,
                 said.c_str());
        QVERIFY(client().remove(coreV1("pods", "default", "misnamed")).has_value());
        QVERIFY(m_stand->waitGone("misnamed")); // one that was never prepared can go
        QTRY_VERIFY_WITH_TIMEOUT(recorded().empty(), 60000);
    }

    void hostsThatRunNoDriverPrepareNothing()
    {
        create(podWith("stray", "bare", {{"resourceClaimTemplateName", "all-netdev"}}, printing));
        QVERIFY(m_stand->waitForEvent("stray",
                                      "prepare dynamic resources: DRA driver dra.net is not registered"));
        json host = podWith("hostly", "n1", {{"resourceClaimTemplateName", "all-netdev"}}, printing);
        host["spec"]["hostNetwork"] = true;
        create(host);
        QVERIFY(m_stand->waitForEvent("hostly", "FailedCreatePodSandBox: Failed to create pod sandbox: "));
        QVERIFY(m_stand->events("hostly").find("using host network can not claim host devices")
                != std::string::npos);
        QVERIFY(client().remove(coreV1("pods", "default", "hostly")).has_value());
        QVERIFY(m_stand->waitGone("hostly"));
    }

    void podsThatWentWhileNoAgentRanAreForgotten()
    {
        create(podWith("forced", "n1", {{"resourceClaimTemplateName", "all-netdev"}}, printing));
        QVERIFY(m_stand->waitReady("forced"));
        m_stand->dropAgent();
        QVERIFY(!recorded().empty());
        KubeDeleteOptions now;
        now.gracePeriodSeconds = 0;
        QVERIFY(client().remove(coreV1("pods", "default", "forced"), now).has_value());
        m_stand->startAgent();
        QTRY_VERIFY_WITH_TIMEOUT(recorded().empty(), 60000);
    }

    void aDamagedRecordIsSetAsideAndSaid()
    {
        const std::string own = m_stand->folder() + "/state";
        for (const char *text : {"", "{", "[]", "{\"kind\":\"DRACheckpoint\"}",
                                 "{\"kind\":\"DRACheckpoint\",\"claims\":[{}]}"}) {
            std::ofstream(own) << text;
            DeviceClaims claims(client(), own);
            QVERIFY(!claims.load().has_value());
            QVERIFY(claims.held().empty());
            QVERIFY(!std::ifstream(own));
            QVERIFY(std::ifstream(own + ".damaged"));
        }
        DeviceClaims claims(client(), own);
        QVERIFY(claims.load().has_value()); // none yet
    }

private:
    KubeClient &client() { return m_plane->client(); }
    std::string file() const { return m_stand->folder() + "/agent/dra_manager_state"; }

    HeldClaims recorded() const
    {
        Result<HeldClaims> claims = readClaimCheckpoint(file());
        return claims ? std::move(*claims) : HeldClaims();
    }

    void create(const json &pod)
    {
        const auto made = client().create(coreV1("pods", "default"), pod);
        QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
    }

    json claimNamed(const std::string &name)
    {
        const auto claim = client().get(claimPath(name));
        return claim ? *claim : json();
    }

    static std::string generatedClaim(const json &pod)
    {
        return pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"];
    }

    std::set<std::string> heldPods() const
    {
        std::set<std::string> all;
        const HeldClaims claims = recorded();
        for (const auto &[key, claim] : claims)
            all.insert(claim.pods.begin(), claim.pods.end());
        return all;
    }

    void publish(NetworkDevices &driver, const std::string &node, bool runsDriver)
    {
        json labels = runsDriver ? driverLabel : json::object();
        labels["role"] = node;
        m_stand->makeNode(node, labels);
        publishSlice(driver, node);
    }

    void publishSlice(NetworkDevices &driver, const std::string &node)
    {
        PoolSpec pool;
        pool.machineType = "ct6e-standard-4t";
        pool.labels = {{"cloud.google.com/gke-networking-dra-driver", "true"}};
        const auto object = client().get(coreV1("nodes").named(node));
        QVERIFY(object.has_value());
        QVERIFY(driver.publish(pool, node, (*object)["metadata"]["uid"], {}).has_value());
    }

    std::unique_ptr<RealPlane> m_plane;
    std::unique_ptr<AgentStand> m_stand;
};

QTEST_GUILESS_MAIN(TestDeviceClaims)
#include "tst_device_claims.moc"
