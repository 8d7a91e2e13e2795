// The node agent against a real API server, with real processes.

#include "tests/local/nodeagent/agent_stand.h"
#include "tests/local/nodeagent/pod_objects.h"

#include <QTest>

using namespace cluster;
using namespace cluster::local;
using namespace tests;

class TestNodeAgent : public AgentTest
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        begin([](AgentStand &stand) {
            stand.options.hostPaths = {stand.folder() + "/allowed"};
            stand.options.hostsOf
                = [](const std::string &nameSpace) { return "127.201.0.9\tdb." + nameSpace + "\n"; };
        });
    }

    void cleanupTestCase() { end(); }

    void aPodRunsItsCommandAndIsReady()
    {
        // Kubernetes makes $$ of $$$$ in a command.
        m_stand->makePod("hello",
                         podOf(shell("echo hello from $HOSTNAME; echo $$$$ > $HOME/pid; exec sleep 1000")));
        QVERIFY(m_stand->waitReady("hello"));
        const json pod = m_stand->pod("hello");
        QVERIFY(pod["status"]["phase"] == json("Running"));
        QVERIFY(pod["status"]["hostIP"] == json("10.128.7.7"));
        QVERIFY(pod["status"]["podIP"].get<std::string>().starts_with("10."));
        QVERIFY(firstStatus(pod)["state"]["running"].contains("startedAt"));
        const std::string log = m_stand->waitForLog("hello", "hello from hello\n");
        QCOMPARE(log, std::string("hello from hello\n"));
        for (const char *event : {"Pulled: Container image \"busybox:1.36\" already present on machine",
                                  "Created: Created container: main", "Started: Started container main"})
            QVERIFY(m_stand->waitForEvent("hello", event));
    }

    void commandsRunBesideTheContainer()
    {
        const auto [code, output] = m_stand->exec("hello", {"sh", "-c", "echo in $HOSTNAME; exit 4"});
        QCOMPARE(output, std::string("in hello\n"));
        QCOMPARE(code, 4);
    }

    void containersHaveNamesOfTheirOwnAndKnowTheServices()
    {
        if (m_stand->exec("hello", {"sh", "-c", "echo ${SLIPWAY_ROOT:-none}"}).second != "none\n")
            QSKIP("this machine forbids mount namespaces to this user");
        QCOMPARE(m_stand->exec("hello", {"hostname"}).second, std::string("hello\n"));
        QCOMPARE(m_stand->exec("hello", {"sh", "-c", "getent hosts db.default | cut -d' ' -f1"}).second,
                 std::string("127.201.0.9\n"));
    }

    void whoTakesTooMuchMemoryIsKilled()
    {
        json container = shell("head -c 300m /dev/zero | tail -c 290m | sleep 1000");
        container["resources"] = {{"limits", {{"memory", "50Mi"}}}};
        m_stand->makePod("greedy", podOf(container, "Never"));
        QVERIFY(m_stand->waitForPhase("greedy", "Failed"));
        QVERIFY(firstStatus(m_stand->pod("greedy"))["state"]["terminated"]["reason"] == json("OOMKilled"));
        QVERIFY(firstStatus(m_stand->pod("greedy"))["state"]["terminated"]["exitCode"] == json(137));
    }

    void aPodThatIsKilledIsStartedAgain()
    {
        const json before = m_stand->pod("hello");
        m_stand->exec("hello", {"sh", "-c", "kill -9 $(cat $HOME/pid)"}); // it takes this command with it
        const json after = m_stand->waitFor("hello", [](const json &pod) {
            return firstStatus(pod)["restartCount"] == 1 && firstStatus(pod)["state"].contains("running");
        });
        QVERIFY(firstStatus(after)["lastState"]["terminated"]["exitCode"] == json(137));
        QVERIFY(firstStatus(after)["lastState"]["terminated"]["reason"] == json("Error"));
        LogOptions previous;
        previous.previous = true;
        QCOMPARE(m_stand->waitForLog("hello", "hello", previous), std::string("hello from hello\n"));
    }

    void deletionGivesTheContainerItsGrace()
    {
        m_stand->makePod("polite",
                         podOf(shell("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done")));
        QVERIFY(m_stand->waitForLog("polite", "up").find("up") != std::string::npos);
        std::promise<std::string> said;
        LogOptions follow;
        follow.follow = true;
        followLog("polite", follow, said);
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "polite")).has_value());
        QVERIFY(m_stand->waitGone("polite"));
        QCOMPARE(said.get_future().get(), std::string("up\nbye\n"));
    }

    void whoIgnoresTheGraceIsKilled()
    {
        json spec = podOf(shell("trap '' TERM; echo up; while :; do sleep 0.05; done"));
        spec["terminationGracePeriodSeconds"] = 2;
        m_stand->makePod("stubborn", spec);
        QVERIFY(m_stand->waitForLog("stubborn", "up").find("up") != std::string::npos);
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "stubborn")).has_value());
        QVERIFY(m_stand->waitGone("stubborn"));
    }

    void aCrashLoopBacksOff()
    {
        m_stand->makePod("crash", podOf(shell("echo failing; exit 3")));
        const json pod = m_stand->waitFor("crash", [](const json &pod) {
            return waitingReasonOf(pod) == "CrashLoopBackOff"
                && firstStatus(pod)["restartCount"].get<int>() >= 2;
        });
        QVERIFY(!pod.is_null());
        QVERIFY(firstStatus(pod)["lastState"]["terminated"]["exitCode"] == json(3));
        const std::string message = firstStatus(pod)["state"]["waiting"]["message"];
        QVERIFY2(message.starts_with("back-off ")
                     && message.find("restarting failed container=main pod=crash_default(")
                         != std::string::npos,
                 message.c_str());
        QVERIFY(m_stand->waitForEvent(
            "crash", "BackOff: Back-off restarting failed container main in pod crash_default("));
        // The same event is counted, not written again.
        QVERIFY(m_stand->waitForEvent("crash", "Started: Started container main ("));
        QTRY_VERIFY_WITH_TIMEOUT(
            m_stand->events("crash").find("Started container main (1)") == std::string::npos, 60000);
    }

    void podsThatEndAreSucceededOrFailed()
    {
        m_stand->makePod("good", podOf(shell("exit 0"), "Never"));
        m_stand->makePod("bad", podOf(shell("exit 9"), "Never"));
        QVERIFY(m_stand->waitForPhase("good", "Succeeded"));
        QVERIFY(m_stand->waitForPhase("bad", "Failed"));
        QVERIFY(firstStatus(m_stand->pod("good"))["state"]["terminated"]["reason"] == json("Completed"));
        QVERIFY(firstStatus(m_stand->pod("bad"))["state"]["terminated"]["exitCode"] == json(9));
    }

    void secretsAndConfigMapsReachTheContainer()
    {
        KubeClient &client = m_plane->client();
        client.create(coreV1("secrets", "default"),
                      {{"apiVersion", "v1"},
                       {"kind", "Secret"},
                       {"metadata", {{"name", "s"}}},
                       {"stringData", {{"token", "t0p"}}}});
        client.create(coreV1("configmaps", "default"),
                      {{"apiVersion", "v1"},
                       {"kind", "ConfigMap"},
                       {"metadata", {{"name", "c"}}},
                       {"data", {{"a.conf", "one"}}}});
        json container
            = shell("cat /etc/creds/token /etc/conf/x/a; echo; echo $TOKEN $POD $B; exec sleep 1000");
        container["env"] = json::array({
            {{"name", "TOKEN"}, {"valueFrom", {{"secretKeyRef", {{"name", "s"}, {"key", "token"}}}}}},
            {{"name", "POD"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "metadata.name"}}}}}},
            {{"name", "B"}, {"value", "b-$(POD)"}},
        });
        container["volumeMounts"]
            = json::array({{{"name", "creds"}, {"mountPath", "/etc/creds"}, {"readOnly", true}},
                           {{"name", "conf"}, {"mountPath", "/etc/conf"}}});
        json spec = podOf(container);
        spec["volumes"] = json::array(
            {{{"name", "creds"}, {"secret", {{"secretName", "s"}}}},
             {{"name", "conf"},
              {"configMap",
               {{"name", "c"}, {"items", json::array({{{"key", "a.conf"}, {"path", "x/a"}}})}}}}});
        m_stand->makePod("mounts", spec);
        QVERIFY(m_stand->waitReady("mounts"));
        const std::string log = m_stand->waitForLog("mounts", "b-mounts");
        QCOMPARE(log, std::string("t0pone\nt0p mounts b-mounts\n"));
    }

    void aMissingSecretIsSaidAndWaitedFor()
    {
        json container = shell("echo $T; exec sleep 1000");
        container["env"] = json::array(
            {{{"name", "T"}, {"valueFrom", {{"secretKeyRef", {{"name", "late"}, {"key", "k"}}}}}}});
        m_stand->makePod("needy", podOf(container));
        const json pod = m_stand->waitFor(
            "needy", [](const json &pod) { return waitingReasonOf(pod) == "CreateContainerConfigError"; });
        QVERIFY(firstStatus(pod)["state"]["waiting"]["message"] == json("secret \"late\" not found"));
        QVERIFY(m_stand->waitForEvent("needy", "Failed: Error: secret \"late\" not found"));
        m_plane->client().create(coreV1("secrets", "default"),
                                 {{"apiVersion", "v1"},
                                  {"kind", "Secret"},
                                  {"metadata", {{"name", "late"}}},
                                  {"stringData", {{"k", "here"}}}});
        QVERIFY(m_stand->waitReady("needy"));
    }

    void aMissingVolumeIsAnEvent()
    {
        json spec = podOf(shell("sleep 1000"));
        spec["volumes"] = json::array({{{"name", "v"}, {"secret", {{"secretName", "nosuch"}}}}});
        m_stand->makePod("unmounted", spec);
        QVERIFY(m_stand->waitForEvent(
            "unmounted",
            "FailedMount: MountVolume.SetUp failed for volume \"v\" : secret \"nosuch\" not found"));
        spec["volumes"] = json::array({{{"name", "v"}, {"hostPath", {{"path", "/etc"}}}}});
        m_stand->makePod("curious", spec);
        QVERIFY(m_stand->waitForEvent("curious", "hostPath '/etc' is not below a folder that pods may use"));
    }

    void imagesThatNothingPlaysSayWhatWouldHelp()
    {
        m_stand->makePod("alien", podOf({{"name", "main"}, {"image", "example.com/own/thing:1"}}));
        const json pod = m_stand->waitFor(
            "alien", [](const json &pod) { return waitingReasonOf(pod) == "ImagePullBackOff"; });
        QVERIFY(pod["status"]["phase"] == json("Pending"));
        QVERIFY(m_stand->waitForEvent("alien", "give the container a command"));
    }

    void programsThatAreMissingAreAStartError()
    {
        json container = shell("");
        container["command"] = {"nosuchprogram"};
        m_stand->makePod("typo", podOf(container, "Never"));
        QVERIFY(m_stand->waitForPhase("typo", "Failed"));
        const json end = firstStatus(m_stand->pod("typo"))["state"]["terminated"];
        QVERIFY(end["reason"] == json("StartError"));
        QVERIFY(end["exitCode"] == json(128));
        QVERIFY(end["message"].get<std::string>().find(
                    "exec: \"nosuchprogram\": executable file not found in $PATH")
                != std::string::npos);
    }

    void readinessFollowsItsProbeAndLivenessRestarts()
    {
        json container = shell("exec sleep 1000");
        container["readinessProbe"]
            = {{"exec", {{"command", {"sh", "-c", "test -e $HOME/ready || { echo not yet; exit 1; }"}}}},
               {"periodSeconds", 2}};
        container["livenessProbe"] = {{"exec", {{"command", {"sh", "-c", "test ! -e $HOME/dead"}}}},
                                      {"periodSeconds", 2},
                                      {"failureThreshold", 2}};
        m_stand->makePod("probed", podOf(container));
        QVERIFY(m_stand->waitForEvent("probed", "Unhealthy: Readiness probe failed: not yet"));
        QVERIFY(firstStatus(m_stand->pod("probed"))["ready"] == json(false));
        QCOMPARE(m_stand->exec("probed", {"sh", "-c", "touch $HOME/ready"}).first, 0);
        QVERIFY(m_stand->waitReady("probed"));
        QCOMPARE(m_stand->exec("probed", {"sh", "-c", "touch $HOME/dead"}).first, 0);
        QVERIFY(
            !m_stand
                 ->waitFor("probed",
                           [](const json &pod) { return firstStatus(pod)["restartCount"].get<int>() >= 1; })
                 .is_null());
        QVERIFY(m_stand->waitForEvent("probed",
                                      "Killing: Container main failed liveness probe, will be restarted"));
    }

    void initContainersAndSidecarsKeepTheirOrder()
    {
        json init = shell("echo init > /scratch/order"),
             side = shell("echo side >> /scratch/order; exec sleep 1000"),
             main = shell("sleep 0.2; cat /scratch/order; exit 0");
        init["name"] = "init";
        side["name"] = "side";
        side["restartPolicy"] = "Always";
        for (json *container : {&init, &side, &main})
            (*container)["volumeMounts"] = json::array({{{"name", "work"}, {"mountPath", "/scratch"}}});
        json spec = podOf(main, "Never");
        spec["initContainers"] = json::array({init, side});
        spec["volumes"] = json::array({{{"name", "work"}, {"emptyDir", json::object()}}});
        m_stand->makePod("ordered", spec);
        QVERIFY(m_stand->waitForPhase("ordered", "Succeeded"));
        QCOMPARE(m_stand->waitForLog("ordered", "side"), std::string("init\nside\n"));
    }

    void podsOutliveTheAgentByTheRules()
    {
        m_stand->makePod("once", podOf(shell("exec sleep 1000"), "Never"));
        m_stand->makePod("again", podOf(shell("(setsid sleep 4321 &) ; exec sleep 1000")));
        QVERIFY(m_stand->waitReady("once"));
        QVERIFY(m_stand->waitReady("again"));
        const std::string address = m_stand->pod("again")["status"]["podIP"];
        m_stand->dropAgent();
        m_stand->startAgent();
        QVERIFY(m_stand->waitForPhase("once", "Failed"));
        const json again = m_stand->waitFor("again", [](const json &pod) {
            return firstStatus(pod)["restartCount"] == 1 && firstStatus(pod)["state"].contains("running");
        });
        QVERIFY(again["status"]["podIP"] == json(address));
        QCOMPARE(m_stand->exec("again", {"sh", "-c", "pgrep -fc 'sleep 432[1]'"}).second, std::string("1\n"));
        QVERIFY(m_stand->pod("good")["status"]["phase"] == json("Succeeded"));
    }

    void podsOfANodeThatGoesAreKilled()
    {
        m_stand->makeNode("n2");
        json spec = podOf(shell("exec sleep 1000"));
        spec["nodeName"] = "n2";
        m_stand->makePod("lost", spec);
        QVERIFY(m_stand->waitReady("lost"));
        const auto before = m_stand->onIo([](NodeAgent &agent) { return agent.counts().processes; });
        QVERIFY(m_plane->client().remove(coreV1("nodes").named("n2")).has_value());
        QVERIFY(QTest::qWaitFor(
            [&] { return m_stand->onIo([](NodeAgent &agent) { return agent.counts().processes; }) < before; },
            30000));
    }

    void nothingIsLeftBehind()
    {
        const std::string folder = m_stand->options.folder;
        m_stand->dropAgent();
        QVERIFY(QTest::qWaitFor([&] { return !hasProcessOf(folder); }, 10000));
    }

private:
    static bool hasProcessOf(const std::string &folder)
    {
        const std::string command
            = "grep -lsz '^SLIPWAY_AGENT=" + folder + "$' /proc/[0-9]*/environ > /dev/null";
        return std::system(command.c_str()) == 0;
    }

    /// Reads on until the end.
    void followLog(const std::string &name, const LogOptions &options, std::promise<std::string> &said)
    {
        m_stand->onIo([&](NodeAgent &agent) {
            m_reader = std::move(*agent.access().openLog({"default", name, {}}, {}, options));
            m_readOn = [this, &said, text = std::string()]() mutable {
                text += *m_reader->read(65536);
                if (m_reader->atEnd())
                    said.set_value(text);
                else
                    m_reader->whenMore(m_readOn2);
            };
            m_readOn2 = [this] { m_readOn(); };
            m_readOn();
            return true;
        });
    }

    std::unique_ptr<LogReader> m_reader;
    std::function<void()> m_readOn, m_readOn2;
};

QTEST_GUILESS_MAIN(TestNodeAgent)
#include "tst_node_agent.moc"
