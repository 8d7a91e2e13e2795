// Probes and lifecycle hooks of real pods: each kind, in success and in failure, with kubelet's words.

#include "cluster/local/controlplane/certificates.h"
#include "cluster/local/nodeagent/grpc_probe.h"
#include "tests/local/nodeagent/agent_stand.h"
#include "tests/local/nodeagent/pod_objects.h"

#include <QTest>
#include <algorithm>
#include <fstream>

using namespace cluster;
using namespace cluster::local;
using namespace tests;

class TestProbes : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        m_plane = std::make_unique<RealPlane>(false);
        if (!m_plane->missing().empty())
            QSKIP(m_plane->missing().c_str());
        QVERIFY2(m_plane->failure().empty(), m_plane->failure().c_str());
        m_plane->client().create(
            coreV1("serviceaccounts", "default"),
            {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}});
        m_stand = std::make_unique<AgentStand>(m_plane->client(), m_plane->client().endpoint().url, 10);
        m_stand->makeNode("n1");
        m_stand->startAgent();
        writeCertificate();
    }

    void cleanupTestCase()
    {
        m_stand.reset();
        m_plane.reset();
    }

    void eachKindOfProbeSucceeds_data()
    {
        QTest::addColumn<QString>("server");
        QTest::addColumn<QString>("probe");
        QTest::newRow("http") << "http 8080"
                              << "{'httpGet':{'path':'/ok','port':8080}}";
        QTest::newRow("http-named") << "http 8080"
                                    << "{'httpGet':{'path':'ok','port':'web'}}";
        QTest::newRow("https") << "https 8080"
                               << "{'httpGet':{'path':'/ok','port':8080,'scheme':'HTTPS'}}";
        QTest::newRow("headers") << "http 8080"
                                 << "{'httpGet':{'path':'/"
                                    "strict','port':8080,'httpHeaders':[{'name':'host','value':'probe."
                                    "example'},{'name':'X-Token','value':'t0p'}]}}";
        QTest::newRow("tcp") << "http 8080"
                             << "{'tcpSocket':{'port':'web'}}";
        QTest::newRow("grpc") << "grpc 8080"
                              << "{'grpc':{'port':8080}}";
        QTest::newRow("exec") << "http 8080"
                              << "{'exec':{'command':['sh','-c','test -n $POD_IP']}}";
    }

    void eachKindOfProbeSucceeds()
    {
        QFETCH(QString, server);
        QFETCH(QString, probe);
        const std::string name = std::string("good-") + QTest::currentDataTag();
        json container = serving(server.toStdString());
        container["readinessProbe"] = eager(probe.toStdString(), 1);
        container["livenessProbe"] = eager(probe.toStdString(), 100); // it takes a while to listen
        container["startupProbe"] = eager(probe.toStdString(), 100);
        m_stand->makePod(name, podOf(container));
        QVERIFY(m_stand->waitReady(name));
        QVERIFY(firstStatus(m_stand->pod(name))["restartCount"] == json(0));
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", name)).has_value());
    }

    void eachKindOfProbeSaysWhatWasWrong_data()
    {
        QTest::addColumn<QString>("server");
        QTest::addColumn<QString>("probe");
        QTest::addColumn<QString>("said");
        QTest::newRow("status") << "http 8080"
                                << "{'httpGet':{'path':'/fail','port':8080}}"
                                << "HTTP probe failed with statuscode: 500";
        QTest::newRow("redirected") << "http 8080"
                                    << "{'httpGet':{'path':'/redirect','port':8080}}"
                                    << "HTTP probe failed with statuscode: 500";
        QTest::newRow("round") << "http 8080"
                               << "{'httpGet':{'path':'/round','port':8080}}"
                               << ":8080/round\": stopped after 10 redirects";
        QTest::newRow("slow") << "http 8080"
                              << "{'httpGet':{'path':'/slow','port':8080}}"
                              << ":8080/slow\": context deadline exceeded (Client.Timeout exceeded while "
                                 "awaiting headers)";
        QTest::newRow("closed") << "http 8080"
                                << "{'httpGet':{'path':'/','port':9}}"
                                << ":9: connect: connection refused";
        QTest::newRow("plain") << "http 8080"
                               << "{'httpGet':{'path':'/ok','port':8080,'scheme':'HTTPS'}}"
                               << "Get \"https://10.";
        QTest::newRow("tcp") << "http 8080"
                             << "{'tcpSocket':{'port':9}}"
                             << ":9: connect: connection refused";
        QTest::newRow("unhealthy") << "grpc 8080"
                                   << "{'grpc':{'port':8080,'service':'down'}}"
                                   << "service unhealthy (responded with \"NOT_SERVING\")";
        QTest::newRow("unknown") << "grpc 8080"
                                 << "{'grpc':{'port':8080,'service':'other'}}"
                                 << "error: health rpc probe failed: rpc error: code = NotFound desc = no "
                                    "such service";
        QTest::newRow("unimplemented") << "grpc 8080"
                                       << "{'grpc':{'port':8080,'service':'none'}}"
                                       << "error: this server does not implement the grpc health protocol "
                                          "(grpc.health.v1.Health): unknown service";
        QTest::newRow("silent") << "grpc 8080"
                                << "{'grpc':{'port':8080,'service':'silent'}}"
                                << "timeout: health rpc did not complete within 1s";
        QTest::newRow("unconnected") << "grpc 8080"
                                     << "{'grpc':{'port':9}}"
                                     << "timeout: failed to connect service \"10.";
        QTest::newRow("no-grpc") << "http 8080"
                                 << "{'grpc':{'port':8080}}"
                                 << "error: health rpc probe failed: rpc error: code = ";
        QTest::newRow("exec") << "http 8080"
                              << "{'exec':{'command':['sh','-c','echo not well; exit 3']}}"
                              << "not well";
        QTest::newRow("exec-slow") << "http 8080"
                                   << "{'exec':{'command':['sleep','30']}}"
                                   << "command timed out: \"sleep 30\" timed out after 1s";
    }

    void eachKindOfProbeSaysWhatWasWrong()
    {
        QFETCH(QString, server);
        QFETCH(QString, probe);
        QFETCH(QString, said);
        const std::string name = std::string("bad-") + QTest::currentDataTag();
        json container = serving(server.toStdString());
        container["readinessProbe"] = eager(probe.toStdString(), 1);
        m_stand->makePod(name, podOf(container));
        QVERIFY(m_stand->waitForEvent(name, said.toStdString()));
        const std::string events = m_stand->events(name);
        QVERIFY2(events.find("Unhealthy: Readiness probe failed: ") != std::string::npos, events.c_str());
        QVERIFY(firstStatus(m_stand->pod(name))["ready"] == json(false));
        QVERIFY(firstStatus(m_stand->pod(name))["restartCount"] == json(0));
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", name)).has_value());
    }

    void aRedirectElsewhereIsASuccessWithAWarning()
    {
        json container = serving("http 8080");
        container["readinessProbe"] = eager("{'httpGet':{'path':'/away','port':8080}}", 1);
        m_stand->makePod("away", podOf(container));
        QVERIFY(m_stand->waitReady("away"));
        QVERIFY(m_stand->waitForEvent("away",
                                      "ProbeWarning: Readiness probe warning: Probe terminated redirects"));
    }

    void aCommandThatCannotBeRunCountsForNothing()
    {
        json container = shell("exec sleep 1000");
        container["livenessProbe"] = eager("{'exec':{'command':['nosuchprogram']}}", 1);
        m_stand->makePod("typo", podOf(container));
        QVERIFY(m_stand->waitForEvent("typo",
                                      "Unhealthy: Liveness probe errored and resulted in unknown state: "
                                      "rpc error: code = Unknown desc = failed to exec in container: "));
        QVERIFY(QTest::qWaitFor([&] { return countOf(m_stand->events("typo"), "errored") >= 1; }, 60000));
        QVERIFY(firstStatus(m_stand->pod("typo"))["restartCount"] == json(0));
    }

    void failedLivenessAndStartupProbesRestartTheContainer()
    {
        for (const char *kind : {"liveness", "startup"}) {
            const std::string name = std::string("restarted-") + kind;
            json container = shell("exec sleep 1000");
            container[std::string(kind) + "Probe"] = eager("{'exec':{'command':['false']}}", 2);
            m_stand->makePod(name, podOf(container));
            QVERIFY(m_stand->waitForEvent(
                name, std::string("Killing: Container main failed ") + kind + " probe, will be restarted"));
            const json again = m_stand->waitFor(
                name, [](const json &pod) { return firstStatus(pod).value("restartCount", 0) >= 1; });
            QVERIFY(firstStatus(again)["lastState"]["terminated"]["exitCode"] == json(143));
            QVERIFY(m_plane->client().remove(coreV1("pods", "default", name)).has_value());
        }
    }

    void aProbesOwnGraceCutsTheContainers()
    {
        json container = shell("trap '' TERM; while :; do sleep 0.05; done");
        container["livenessProbe"] = eager("{'exec':{'command':['false']}}", 1);
        container["livenessProbe"]["terminationGracePeriodSeconds"] = 1;
        json spec = podOf(container);
        spec["terminationGracePeriodSeconds"] = 6000;
        m_stand->makePod("cut", spec);
        const json again = m_stand->waitFor(
            "cut", [](const json &pod) { return firstStatus(pod).value("restartCount", 0) >= 1; });
        QVERIFY(firstStatus(again)["lastState"]["terminated"]["exitCode"] == json(137));
        KubeDeleteOptions now;
        now.gracePeriodSeconds = 0;
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "cut"), now).has_value());
    }

    void hooksRunAfterTheStartAndBeforeTheEnd()
    {
        // How it ends says what the container had seen of its hook when SIGTERM came.
        json container
            = shell("trap 'test -e $HOME/stopping && exit 7; exit 8' TERM; while :; do sleep 0.05; done");
        container["lifecycle"]
            = {{"postStart", {{"exec", {{"command", {"sh", "-c", "echo started > $HOME/started"}}}}}},
               {"preStop", {{"exec", {{"command", {"sh", "-c", "sleep 0.5; touch $HOME/stopping"}}}}}}};
        container["livenessProbe"] = eager("{'exec':{'command':['sh','-c','test ! -e $HOME/dead']}}", 1);
        m_stand->makePod("hooked", podOf(container));
        QVERIFY(m_stand->waitReady("hooked"));
        QCOMPARE(m_stand->exec("hooked", {"sh", "-c", "cat $HOME/started; touch $HOME/dead"}).second,
                 std::string("started\n"));
        const json again = m_stand->waitFor(
            "hooked", [](const json &pod) { return firstStatus(pod).value("restartCount", 0) >= 1; });
        QVERIFY(firstStatus(again)["lastState"]["terminated"]["exitCode"] == json(7));
        const std::string events = m_stand->events("hooked");
        QVERIFY2(events.find("Hook") == std::string::npos, events.c_str());
    }

    void aPostStartThatFailsEndsTheContainer()
    {
        json container = shell("exec sleep 1000");
        container["lifecycle"]
            = {{"postStart", {{"exec", {{"command", {"sh", "-c", "echo s3cret; exit 1"}}}}}}};
        m_stand->makePod("unstarted", podOf(container, "Never"));
        QVERIFY(m_stand->waitForPhase("unstarted", "Failed"));
        QVERIFY(m_stand->waitForEvent("unstarted", "FailedPostStartHook: PostStartHook failed"));
        QVERIFY(m_stand->waitForEvent("unstarted", "Killing: FailedPostStartHook"));
        QVERIFY(m_stand->events("unstarted").find("s3cret") == std::string::npos);
    }

    void hooksOverHttpOnlyNeedAnAnswer()
    {
        json container = serving("http 8080");
        container["lifecycle"] = {{"preStop", {{"httpGet", {{"path", "/fail"}, {"port", 8080}}}}}};
        container["readinessProbe"] = eager("{'httpGet':{'path':'/ok','port':8080}}", 1);
        m_stand->makePod("answered", podOf(container));
        QVERIFY(m_stand->waitReady("answered"));
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "answered")).has_value());
        QVERIFY(m_stand->waitGone("answered"));
        QVERIFY(m_stand->events("answered").find("FailedPreStopHook") == std::string::npos);
        // One that nobody answers is told, and the container ends all the same.
        container["lifecycle"]["preStop"]["httpGet"]["port"] = 9;
        m_stand->makePod("unanswered", podOf(container));
        QVERIFY(m_stand->waitReady("unanswered"));
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "unanswered")).has_value());
        QVERIFY(m_stand->waitForEvent("unanswered", "FailedPreStopHook: PreStopHook failed"));
        QVERIFY(m_stand->waitGone("unanswered"));
    }

    void aSleepHookHoldsTheEndBack()
    {
        json container = shell("trap 'date +%s%N > $HOME/told; exit 0' TERM; while :; do sleep 0.05; done");
        container["lifecycle"] = {{"preStop", {{"sleep", {{"seconds", 1}}}}}};
        json spec = podOf(container);
        m_stand->makePod("sleepy", spec);
        QVERIFY(m_stand->waitReady("sleepy"));
        const auto begun = std::chrono::steady_clock::now();
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "sleepy")).has_value());
        QVERIFY(m_stand->waitGone("sleepy"));
        QVERIFY(std::chrono::steady_clock::now() - begun >= std::chrono::seconds(1));
    }

    void grpcMessagesAreReadAsTheyAre()
    {
        QCOMPARE(grpcHealthRequest(""), std::string("\0\0\0\0\0", 5));
        QCOMPARE(grpcHealthRequest("ab"), std::string("\0\0\0\0\4\x0a\2ab", 9));
        QCOMPARE(grpcHealthRequest(std::string(200, 'x')).substr(0, 8),
                 std::string("\0\0\0\0\xcb\x0a\xc8\x01", 8));
        QCOMPARE(grpcHealthStatus(std::string("\0\0\0\0\2\x08\1", 7)), 1);
        QCOMPARE(grpcHealthStatus(std::string("\0\0\0\0\0", 5)), 0);
        for (const std::string &wrong :
             {std::string(), std::string("\0\0\0\0\2\x08", 6), std::string("\1\0\0\0\2\x08\1", 7),
              std::string("\0\0\0\0\2\x10\1", 7), std::string("\0\0\0\0\2\x08\x80", 7)})
            QCOMPARE(grpcHealthStatus(wrong), -1);
    }

private:
    void writeCertificate()
    {
        const auto now = std::chrono::system_clock::now();
        const auto authority = CertificateAuthority::create("nobody's", now);
        CertificateSubject subject;
        subject.commonName = "probed";
        subject.server = true;
        const auto pair = authority->issue(subject, now); // of no name at all: probes don't look
        QVERIFY(pair.has_value());
        std::ofstream(m_stand->folder() + "/server.crt") << pair->certificate;
        std::ofstream(m_stand->folder() + "/server.key") << pair->key;
    }

    /// \param server  "http 8080": arguments of the probe server
    json serving(const std::string &server)
    {
        json container = shell("exec python3 " STREAMS_SOURCE_DIR "/probe_server.py " + server + " "
                               + m_stand->folder() + "/server.crt " + m_stand->folder() + "/server.key");
        container["ports"] = json::array({{{"name", "web"}, {"containerPort", 8080}}});
        return container;
    }

    /// \param action  JSON with ' for its quotes: Qt's moc is lost in raw strings.
    static json eager(std::string action, int failures)
    {
        std::replace(action.begin(), action.end(), '\'', '"');
        json probe = json::parse(action);
        probe["periodSeconds"] = 2;
        probe["failureThreshold"] = failures;
        return probe;
    }

    static int countOf(const std::string &text, const std::string &what)
    {
        int count = 0;
        for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
            ++count;
        return count;
    }

    std::unique_ptr<RealPlane> m_plane;
    std::unique_ptr<AgentStand> m_stand;
};

QTEST_GUILESS_MAIN(TestProbes)
#include "tst_probes.moc"
