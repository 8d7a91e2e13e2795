// The node agent under the real controllers: workloads, the engine as a model server, many pods without a
// process.

#include "tests/local/nodeagent/agent_stand.h"
#include "tests/local/nodeagent/pod_objects.h"

#include <QFile>
#include <QTest>
#include <ctime>
#include <fstream>

using namespace cluster;
using namespace cluster::local;
using namespace tests;

class TestWorkloads : public AgentTest
{
    Q_OBJECT

private slots:
    void initTestCase() { begin(); }

    void cleanupTestCase() { end(); }

    void deploymentsRunAndAreReplaced()
    {
        KubeClient &client = m_plane->client();
        json pod = podOf(shell("echo serving; exec sleep 1000"));
        const json deployment{
            {"apiVersion", "apps/v1"},
            {"kind", "Deployment"},
            {"metadata", {{"name", "web"}}},
            {"spec",
             {{"replicas", 2},
              {"selector", {{"matchLabels", {{"app", "web"}}}}},
              {"template", {{"metadata", {{"labels", {{"app", "web"}}}}}, {"spec", pod}}}}}};
        const ResourcePath path = apiGroup("apps", "v1", "deployments", "default", "web");
        QVERIFY(client.create(path.collection(), deployment).has_value());
        const auto available = [&] {
            const auto now = client.get(path);
            return now ? (*now)["status"].value("availableReplicas", 0) : 0;
        };
        QTRY_COMPARE_WITH_TIMEOUT(available(), 2, 120000);
        QVERIFY(client.patch(path, PatchType::Merge, {{"spec", {{"replicas", 1}}}}).has_value());
        KubeListOptions of;
        of.labelSelector = "app=web";
        const auto pods = [&] { return client.list(coreV1("pods", "default"), of)->items.size(); };
        QTRY_COMPARE_WITH_TIMEOUT(pods(), std::size_t{1}, 120000);
        QVERIFY(client.remove(path).has_value());
        QTRY_COMPARE_WITH_TIMEOUT(pods(), std::size_t{0}, 120000);
    }

    void jobsRunToTheirEnd()
    {
        KubeClient &client = m_plane->client();
        const json job{
            {"apiVersion", "batch/v1"},
            {"kind", "Job"},
            {"metadata", {{"name", "count"}}},
            {"spec", {{"completions", 2}, {"template", {{"spec", podOf(shell("echo counted"), "Never")}}}}}};
        const ResourcePath path = apiGroup("batch", "v1", "jobs", "default", "count");
        QVERIFY(client.create(path.collection(), job).has_value());
        const auto succeeded = [&] {
            const auto now = client.get(path);
            return now ? (*now)["status"].value("succeeded", 0) : 0;
        };
        QTRY_COMPARE_WITH_TIMEOUT(succeeded(), 2, 120000);
    }

    void serviceAccountsReachTheApi()
    {
        json container = shell(
            "cd /var/run/secrets/kubernetes.io/serviceaccount; curl -s --cacert ca.crt -H \"Authorization: "
            "Bearer $(cat token)\" https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/api/v1/$(cat "
            "namespace); echo; exec sleep 1000");
        json spec = podOf(container);
        spec["automountServiceAccountToken"] = true;
        m_stand->makePod("account", spec);
        const std::string log = m_stand->waitForLog("account", "system:serviceaccount:default:default");
        QVERIFY2(log.find("Forbidden") != std::string::npos, log.c_str());
    }

    void theEnginePlaysAModelServer()
    {
        if (!QFile::exists(SLIPWAY_BIN_DIR "/slipway-engine"))
            QSKIP("slipway-engine is not built");
        json container{{"name", "main"},
                       {"image", "vllm/vllm-openai:v0.8.5"},
                       {"command",
                        {"sh", "-c",
                         "bash run.sh leader; python3 -m vllm.entrypoints.openai.api_server --port 8080 "
                         "--model deepseek-ai/DeepSeek-R1 --tensor-parallel-size 8 --trust-remote-code"}}};
        container["readinessProbe"]
            = {{"httpGet", {{"path", "/health"}, {"port", 8080}}}, {"periodSeconds", 1}};
        m_stand->makePod("model", podOf(container));
        QVERIFY(m_stand->waitReady("model"));
        const json pod = m_stand->pod("model");
        const std::string standIn = pod["metadata"]["annotations"].value("slipway.dev/stand-in", "");
        QVERIFY2(standIn.find("in place of vLLM") != std::string::npos, standIn.c_str());
        HttpClient http;
        HttpRequest request;
        request.url = "http://127." + pod["status"]["podIP"].get<std::string>().substr(3) + ":8080/v1/models";
        const auto models = http.send(request);
        QVERIFY2(models.has_value(), models ? "" : models.error().message.c_str());
        QVERIFY2(models->body.find("\"deepseek-ai/DeepSeek-R1\"") != std::string::npos, models->body.c_str());
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "model")).has_value());
        QVERIFY(m_stand->waitGone("model"));
    }

    void simulatedPodsRunWithoutAProcess()
    {
        const auto before = m_stand->onIo([](NodeAgent &agent) { return agent.counts().processes; });
        json spec = podOf({{"name", "main"}, {"image", "example.com/any:1"}});
        m_stand->makePod("light", spec, {{"annotations", {{"slipway.dev/runtime", "simulated"}}}});
        QVERIFY(m_stand->waitReady("light"));
        QCOMPARE(m_stand->onIo([](NodeAgent &agent) { return agent.counts().processes; }), before);
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "light")).has_value());
        QVERIFY(m_stand->waitGone("light"));
    }

    void manySimulatedPodsCostLittle()
    {
        constexpr int count = 400;
        m_stand->dropAgent();
        // As large as a TPU worker's: the list of the slice's hosts is in each of them.
        json container{{"name", "main"}, {"image", "registry.k8s.io/pause:3.10"}};
        container["env"]
            = json::array({{{"name", "TPU_WORKER_HOSTNAMES"}, {"value", std::string(7000, 'h')}}});
        for (int i = 0; i < count; ++i)
            m_stand->makePod("many-" + std::to_string(i), podOf(container), {{"labels", {{"many", "yes"}}}});
        const auto memoryBefore = residentKilobytes();
        const auto cpuBefore = cpuMilliseconds();
        m_stand->startAgent();
        const auto running = [&] {
            KubeListOptions of;
            of.labelSelector = "many=yes";
            of.fieldSelector = "status.phase!=Running";
            of.limit = 1;
            const auto waiting = m_plane->client().list(coreV1("pods", "default"), of);
            return waiting && waiting->items.empty();
        };
        QTRY_VERIFY_WITH_TIMEOUT(running(), 120000);
        const auto cpu = (cpuMilliseconds() - cpuBefore) / count;
        const auto perPod = [&] { return (residentKilobytes() - memoryBefore) / count; };
        QTRY_VERIFY_WITH_TIMEOUT(perPod() < 30, 30000);
        qInfo("%ld ms of CPU and %ld KiB for each simulated pod", cpu, perPod());
    }

private:
    static long residentKilobytes()
    {
        std::ifstream file("/proc/self/statm");
        long size = 0, resident = 0;
        file >> size >> resident;
        return resident * 4;
    }

    static long cpuMilliseconds() { return std::clock() * 1000L / CLOCKS_PER_SEC; }
};

QTEST_GUILESS_MAIN(TestWorkloads)
#include "tst_workloads.moc"
