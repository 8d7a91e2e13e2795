// Graceful node shutdown as kubelet does it, and the order in which sidecars and hooks see the end.

#include "tests/local/nodeagent/agent_stand.h"
#include "tests/local/nodeagent/pod_objects.h"

#include <QTest>
#include <fstream>
#include <sstream>

using namespace cluster;
using namespace cluster::local;
using namespace tests;

class TestNodeShutdown : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        m_plane = std::make_unique<RealPlane>(true);
        if (!m_plane->missing().empty())
            QSKIP(m_plane->missing().c_str());
        QVERIFY2(m_plane->failure().empty(), m_plane->failure().c_str());
        m_plane->client().create(
            coreV1("serviceaccounts", "default"),
            {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}});
        m_stand = std::make_unique<AgentStand>(m_plane->client(), m_plane->client().endpoint().url, 10);
        m_shared = m_stand->folder() + "/shared";
        std::filesystem::create_directories(m_shared);
        m_stand->options.hostPaths = {m_shared};
        m_stand->makeNode("n1");
        m_stand->startAgent();
    }

    void cleanupTestCase()
    {
        m_stand.reset();
        m_plane.reset();
    }

    void podsEndInTheirGraceAndCriticalOnesLast()
    {
        const std::string slow
            = "trap 'echo web-told >> /shared/order; sleep 1; echo web-ends >> /shared/order; "
              "exit 0' TERM; echo up; while :; do sleep 0.05; done";
        const std::string critical = "trap 'echo critical-told >> /shared/order; exit 0' TERM; echo up; "
                                     "while :; do sleep 0.05; done";
        m_stand->makePod("web", sharing(podOf(shell(slow))));
        json spec = sharing(podOf(shell(critical)));
        spec["priorityClassName"] = "system-node-critical";
        m_stand->makePod("critical", spec);
        spec = podOf(shell("trap '' TERM; echo up; while :; do sleep 0.05; done"));
        spec["terminationGracePeriodSeconds"] = 600; // its node does not have as much
        m_stand->makePod("stubborn", spec);
        for (const char *pod : {"web", "critical", "stubborn"})
            QVERIFY(m_stand->waitReady(pod)
                    && m_stand->waitForLog(pod, "up").find("up") != std::string::npos);
        shutDown();
        QVERIFY(QTest::qWaitFor([&] { return order().find("web-told") != std::string::npos; }, 60000));
        // What still runs is not told to have failed.
        if (order().find("web-ends") == std::string::npos) {
            const json pod = m_stand->pod("web");
            QVERIFY(order().find("web-ends") != std::string::npos
                    || pod["status"]["phase"] == json("Running"));
        }
        for (const char *pod : {"web", "critical", "stubborn"}) {
            QVERIFY(m_stand->waitForPhase(pod, "Failed"));
            const json status = m_stand->pod(pod)["status"];
            QVERIFY(status["reason"] == json("Terminated"));
            QVERIFY(status["message"] == json("Pod was terminated in response to imminent node shutdown."));
            const json condition = conditionOf(status, "DisruptionTarget");
            QVERIFY(condition["status"] == json("True"));
            QVERIFY(condition["reason"] == json("TerminationByKubelet"));
        }
        QCOMPARE(order(), std::string("web-told\nweb-ends\ncritical-told\n"));
        QVERIFY(firstStatus(m_stand->pod("stubborn"))["state"]["terminated"]["exitCode"] == json(137));
        QVERIFY(firstStatus(m_stand->pod("web"))["restartCount"] == json(0));
    }

    void podsThatComeMeanwhileAreRejected()
    {
        m_stand->makePod("late", podOf(shell("exec sleep 1000")));
        QVERIFY(m_stand->waitForPhase("late", "Failed"));
        const json status = m_stand->pod("late")["status"];
        QVERIFY(status["reason"] == json("NodeShutdown"));
        QVERIFY(
            status["message"].get<std::string>().ends_with("Pod was rejected as the node is shutting down."));
        QVERIFY(
            m_stand->waitForEvent("late", "NodeShutdown: Pod was rejected as the node is shutting down."));
        QVERIFY(m_stand->events("late").find("Started") == std::string::npos);
    }

    void aMachineThatComesBackTakesPodsAgain()
    {
        m_stand->onIo([](NodeAgent &agent) {
            agent.setNodeLost("n1", true);
            agent.setNodeLost("n1", false);
            return true;
        });
        m_stand->makePod("fresh", podOf(shell("exec sleep 1000")));
        QVERIFY(m_stand->waitReady("fresh"));
        QVERIFY(m_stand->pod("web")["status"]["phase"] == json("Failed")); // and stays so
    }

    void sidecarsStartBeforeTheOthersAndEndAfterThemInReverse()
    {
        const auto named = [](const char *name, bool isSidecar) {
            json container
                = shell(std::string("trap 'echo end-") + name + " >> /shared/sides; exit 0' TERM; echo start-"
                        + name + " >> /shared/sides; while :; do sleep 0.05; done");
            container["name"] = name;
            if (isSidecar) {
                container["restartPolicy"] = "Always";
                container["startupProbe"] = {
                    {"exec",
                     {{"command",
                       {"sh", "-c", std::string("grep -q start-") + name + " $SLIPWAY_ROOT/shared/sides"}}}},
                    {"periodSeconds", 1},
                    {"failureThreshold", 100}};
            }
            return container;
        };
        json spec = sharing(podOf(named("main", false)));
        spec["initContainers"] = json::array({named("first", true), named("second", true)});
        for (json &container : spec["initContainers"])
            container["volumeMounts"] = spec["containers"][0]["volumeMounts"];
        m_stand->makePod("sides", spec);
        QVERIFY(m_stand->waitReady("sides"));
        QVERIFY(
            QTest::qWaitFor([&] { return read("sides").find("start-main") != std::string::npos; }, 60000));
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "sides")).has_value());
        QVERIFY(m_stand->waitGone("sides"));
        QCOMPARE(read("sides"),
                 std::string("start-first\nstart-second\nstart-main\nend-main\nend-second\nend-first\n"));
    }

    void aSidecarThatEndsIsStartedAgainAndHoldsNoJobUp()
    {
        json side = shell("echo side; exit 1"), main = shell("sleep 1; exit 0");
        side["name"] = "side";
        side["restartPolicy"] = "Always";
        json spec = podOf(main, "Never");
        spec["initContainers"] = json::array({side});
        m_stand->makePod("beside", spec);
        QVERIFY(m_stand->waitForPhase("beside", "Succeeded"));
        const json sides = m_stand->pod("beside")["status"]["initContainerStatuses"];
        QVERIFY(sides[0]["restartCount"].get<int>() >= 1);
    }

private:
    json sharing(json spec)
    {
        spec["volumes"] = json::array({{{"name", "shared"}, {"hostPath", {{"path", m_shared}}}}});
        spec["containers"][0]["volumeMounts"] = json::array({{{"name", "shared"}, {"mountPath", "/shared"}}});
        return spec;
    }

    void shutDown()
    {
        m_stand->onIo([](NodeAgent &agent) {
            agent.shutDownNode("n1", std::chrono::seconds(60));
            return true;
        });
    }

    std::string read(const char *name) const
    {
        std::stringstream text;
        text << std::ifstream(m_shared + "/" + name).rdbuf();
        return text.str();
    }
    std::string order() const { return read("order"); }

    static json conditionOf(const json &status, const char *type)
    {
        for (const json &condition : status["conditions"]) {
            if (condition["type"] == type)
                return condition;
        }
        return json::object();
    }

    std::unique_ptr<RealPlane> m_plane;
    std::unique_ptr<AgentStand> m_stand;
    std::string m_shared;
};

QTEST_GUILESS_MAIN(TestNodeShutdown)
#include "tst_node_shutdown.moc"
