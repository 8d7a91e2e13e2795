// What a container gets: its runtime, command, variables and volumes.

#include "cluster/local/nodeagent/engine_command.h"
#include "cluster/local/nodeagent/environment.h"
#include "cluster/local/nodeagent/image_table.h"
#include "cluster/local/nodeagent/ray_command.h"
#include "cluster/local/nodeagent/volumes.h"

#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

PodSpec podOf(json spec, json metadata = json::object())
{
    metadata.update({{"name", "web"}, {"namespace", "default"}, {"uid", "u1"}});
    spec["nodeName"] = "n1";
    return parsePod(std::make_shared<json>(json{{"metadata", metadata}, {"spec", std::move(spec)}}));
}

PodSpec podWith(json container)
{
    container["name"] = "main";
    return podOf({{"containers", json::array({std::move(container)})}});
}

/// Objects of a namespace, by "plural/name".
ObjectOf objectsOf(std::map<std::string, json> objects)
{
    return
        [objects = std::move(objects)](const std::string &plural, const std::string &name) -> Result<json> {
            const auto found = objects.find(plural + "/" + name);
            if (found == objects.end())
                return fail(ErrorCode::NotFound, plural + " " + name + " not found");
            return found->second;
        };
}

Result<Environment> environmentOf(const PodSpec &pod, std::map<std::string, json> objects = {},
                                  json services = json::array(), json node = {})
{
    return containerEnvironment({pod, 0, "127.16.0.2", "127.128.0.5", node, services,
                                 objectsOf(std::move(objects)), "127.0.0.1", 6443});
}

std::string textOfFile(const fs::path &path)
{
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

ContainerSpec containerWith(const char *image, std::vector<std::string> command = {},
                            std::vector<std::string> args = {})
{
    ContainerSpec container;
    container.name = "main";
    container.image = image;
    container.command = std::move(command);
    container.args = std::move(args);
    return container;
}

std::string joined(const std::vector<std::string> &words)
{
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

struct FolderPerBucket final : BucketVolumes
{
    explicit FolderPerBucket(fs::path folder) : root(std::move(folder)) {}
    Result<fs::path> mount(const BucketVolume &volume, const std::string &) override
    {
        last = volume;
        return root / "buckets" / volume.bucket;
    }
    Status flush(const std::string &) override { return {}; }
    void release(const std::string &) override {}

    fs::path root;
    BucketVolume last;
};

/// A pod's folder, a Secret s, a claim d, and buckets.
struct VolumeFolder
{
    Result<VolumePaths> prepare(const json &volume)
    {
        const PodSpec pod = podOf({{"containers", json::array()}, {"volumes", json::array({volume})}},
                                  {{"labels", {{"l", "v"}}},
                                   {"annotations", {{"gke-gcsfuse/volumes", isMarked ? "true" : "false"}}}});
        const json node;
        return prepareVolumes(
            {pod,
             root / "pod",
             root / "disks",
             "127.16.0.2",
             "127.128.0.5",
             node,
             objectsOf({{"secrets/s", {{"data", {{"k", "aGk="}}}}},
                        {"persistentvolumeclaims/d", {{"spec", {{"volumeName", "pv-1"}}}}}}),
             objectsOf(
                 {{"persistentvolumes/pv-1", {{"spec", {{"csi", {{"driver", "pd.csi.storage.gke.io"}}}}}}}}),
             [](const std::string &, std::int64_t) {
                 return ServiceToken{"tok", {}};
             },
             {root / "allowed"},
             &buckets,
             {}});
    }

    QTemporaryDir folder;
    fs::path root = folder.path().toStdString();
    FolderPerBucket buckets{root};
    bool isMarked = true;
};

} // namespace

class TestPodInputs : public QObject
{
    Q_OBJECT

private slots:
    void theTableKnowsTheTutorialsImages_data()
    {
        QTest::addColumn<QString>("image");
        QTest::addColumn<QString>("script");
        QTest::addColumn<int>("kind");
        const int engine = static_cast<int>(RuntimeKind::Engine), ray = static_cast<int>(RuntimeKind::Ray),
                  builtIn = static_cast<int>(RuntimeKind::BuiltIn),
                  simulated = static_cast<int>(RuntimeKind::Simulated),
                  process = static_cast<int>(RuntimeKind::Process);
        QTest::newRow("own") << "slipway/engine:latest"
                             << "" << engine;
        QTest::newRow("vllm leader")
            << "vllm/vllm-openai:v0.8.5"
            << "bash x.sh leader; python3 -m vllm.entrypoints.openai.api_server --port 8080" << engine;
        QTest::newRow("vllm worker") << "vllm/vllm-openai:v0.8.5"
                                     << "bash /v/multi-node-serving.sh worker --ray_address=a" << engine;
        QTest::newRow("ray worker") << "vllm/vllm-openai:v0.8.5"
                                    << "ray start --address=a:6379 --block" << simulated;
        QTest::newRow("vllm alone") << "docker.io/vllm/vllm-openai@sha256:ab"
                                    << "" << engine;
        QTest::newRow("LeaderWorkerSet") << "registry.k8s.io/lws/lws:v0.10.0"
                                         << "/manager" << builtIn;
        QTest::newRow("LeaderWorkerSet's main branch")
            << "us-central1-docker.pkg.dev/k8s-staging-images/lws/lws:main"
            << "/manager" << builtIn;
        QTest::newRow("ray head") << "rayproject/ray-ml:2.9.0-py310"
                                  << "ulimit -n 65536; ray start --head  --block  "
                                     "--dashboard-agent-listen-port=52365  --dashboard-host=0.0.0.0 "
                                  << ray;
        QTest::newRow("ray worker of vLLM's image")
            << "example.com/vllm-tpu:ray"
            << "ulimit -n 65536; ray start  --address=h:6379  --block  --dashboard-agent-listen-port=52365 "
            << ray;
        QTest::newRow("ray's init container")
            << "rayproject/ray-ml:2.9.0-py310"
            << "while true; do\n if ray health-check --address h.default.svc:6379 > /dev/null; then" << ray;
        QTest::newRow("ray by hand") << "docker.io/rayproject/ray:2.54.0"
                                     << "ray start --head --block" << ray;
        QTest::newRow("pause") << "registry.k8s.io/pause:3.10"
                               << "" << simulated;
        QTest::newRow("metrics adapter")
            << "gcr.io/gke-release/custom-metrics-stackdriver-adapter:v0.16.9-gke.0"
            << "/adapter --use-new-resource-model=true" << builtIn;
        QTest::newRow("shell") << "busybox"
                               << "echo" << process;
        QTest::newRow("unknown with a command") << "example.com/a/b:c"
                                                << "echo" << process;
    }

    void theTableKnowsTheTutorialsImages()
    {
        QFETCH(QString, image);
        QFETCH(QString, script);
        QFETCH(int, kind);
        const auto table
            = ImageTable::read(SLIPWAY_SOURCE_DIR "/resources/catalog/images.yaml", {true, false});
        QVERIFY2(table.has_value(), table ? "" : table.error().message.c_str());
        std::vector<std::string> command;
        if (!script.isEmpty())
            command = {"sh", "-c", script.toStdString()};
        const auto choice = table->choose(containerWith(image.toLatin1().constData(), command), {});
        QVERIFY(choice.has_value());
        QCOMPARE(static_cast<int>(choice->kind), kind);
    }

    void nothingRunsOnThisMachineUnlessAllowed()
    {
        const auto table
            = ImageTable::read(SLIPWAY_SOURCE_DIR "/resources/catalog/images.yaml", {false, false});
        QVERIFY(table.has_value());
        const ContainerSpec container = containerWith("busybox", {"sh"});
        const auto choice = table->choose(container, {});
        QVERIFY(!choice);
        QVERIFY(choice.error().message.find("--allow-process") != std::string::npos);
        QVERIFY(!table->choose(container, "process"));
        QVERIFY(table->choose(container, "simulated").has_value());
    }

    void theEngineAnswersInPlaceOfAModelServer_data()
    {
        QTest::addColumn<QStringList>("command");
        QTest::addColumn<QString>("expected");
        const QString head = "/bin/slipway-engine serve /models/small.gguf ";
        QTest::newRow("python in a script")
            << QStringList{"sh", "-c",
                           "bash run.sh leader --size=$(N);\n python3 -m vllm.entrypoints.openai.api_server "
                           "--port 8080 --model deepseek-ai/DeepSeek-R1 --tensor-parallel-size 8 "
                           "--trust-remote-code --max-model-len 4096"}
            << head + "--host 127.16.0.2 --port 8080 --served-model-name deepseek-ai/DeepSeek-R1";
        QTest::newRow("vllm serve") << QStringList{"vllm", "serve", "org/m",     "--served-model-name",
                                                   "m",    "n",     "--api-key", "k"}
                                    << head + "--host 127.16.0.2 --port 8000 --served-model-name m n";
        QTest::newRow("arguments only")
            << QStringList{"--model=org/m", "--enable-prefix-caching", "--host=0.0.0.0",
                           "--tensor_parallel_size=4"}
            << head + "--enable-prefix-caching --host 127.16.0.2 --port 8000 --served-model-name org/m";
        QTest::newRow("variables and quotes")
            << QStringList{"bash", "-c",
                           "exec vllm serve \"$MODEL_ID\" \\\n --port "
                           "${PORT:-9000} --chat-template 'a b' > /tmp/log 2>&1"}
            << head + "--chat-template a b --host 127.16.0.2 --port 9000 --served-model-name org/m";
        QTest::newRow("nothing given")
            << QStringList{} << head + "--host 127.16.0.2 --port 8000 --served-model-name small";
    }

    void theEngineAnswersInPlaceOfAModelServer()
    {
        QFETCH(QStringList, command);
        QFETCH(QString, expected);
        EngineCommandInput input;
        for (const QString &word : command)
            input.command.push_back(word.toStdString());
        input.variable = [](const std::string &name) {
            return name == "MODEL_ID" ? std::string("org/m") : std::string();
        };
        input.address = "127.16.0.2";
        input.program = "/bin/slipway-engine";
        input.modelsFolder = "/models";
        input.standIn = "/models/small.gguf";
        const auto made = engineCommand(input);
        QVERIFY(made.has_value());
        QCOMPARE(joined(made->words), expected.toStdString());
        // Not among the words, which everybody on this machine can read.
        QCOMPARE(made->apiKeys, command.contains("--api-key") ? std::string("k\n") : std::string());
    }

    void slipwayRayPlaysTheCommandsOfKubeRay_data()
    {
        QTest::addColumn<QString>("script");
        QTest::addColumn<QString>("expected");
        QTest::newRow("head")
            << "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; ray start --head  --block  "
               "--dashboard-agent-listen-port=52365  --dashboard-host=0.0.0.0  --memory=8000000000  "
               "--num-cpus=2 "
            << "/bin/slipway-ray head --head --block --dashboard-agent-listen-port=52365 "
               "--dashboard-host=0.0.0.0 --memory=8000000000 --num-cpus=2 --node-ip-address=127.16.0.2";
        QTest::newRow("worker")
            << "ulimit -n 65536; ray start  --address=h.default.svc:6379  --block  --resources='{\"TPU\":4}' "
            << "/bin/slipway-ray worker --address=h.default.svc:6379 --block --resources={\"TPU\":4} "
               "--node-ip-address=127.16.0.2";
        QTest::newRow("init container")
            << "\n SECONDS=0\n while true; do\n if (( SECONDS <= 120 )); then\n  if ray health-check "
               "--address "
               "h.default.svc:6379 > /dev/null 2>&1; then\n echo \"GCS is ready.\"\n break\n fi\n"
            << "/bin/slipway-ray health-check --address h.default.svc:6379 --wait";
    }

    void slipwayRayPlaysTheCommandsOfKubeRay()
    {
        QFETCH(QString, script);
        QFETCH(QString, expected);
        RayCommandInput input;
        input.command = {"/bin/bash", "-c", "--"};
        input.args = {script.toStdString()};
        input.variable = [](const std::string &) { return std::string(); };
        input.address = "127.16.0.2";
        input.program = "/bin/slipway-ray";
        const auto words = rayCommand(input);
        QVERIFY(words.has_value());
        QCOMPARE(joined(*words), expected.toStdString());
        input.args = {"sleep 5"};
        QVERIFY(!rayCommand(input));
    }

    void aRayNodesLocalhostIsItsPod()
    {
        const std::vector<std::string> probe{
            "bash", "-c",
            "wget -T 2 -q -O- http://localhost:52365/api/local_raylet_healthz | grep success && wget -q -O- "
            "http://localhost:8265/api/gcs_healthz | grep success"};
        QCOMPARE(
            withOwnLocalhost(probe, "127.16.0.2")[2],
            std::string("wget -T 2 -q -O- http://127.16.0.2:52365/api/local_raylet_healthz | grep success "
                        "&& wget -q -O- http://127.16.0.2:8265/api/gcs_healthz | grep success"));
        QCOMPARE(rayVersionOfImage("reg.example:5000/rayproject/ray-ml:2.9.0-py310"), std::string("2.9.0"));
        QCOMPARE(rayVersionOfImage("reg.example:5000/ray"), std::string());
        QCOMPARE(rayVersionOfImage("ray:nightly"), std::string());
        Environment environment{
            {"SLIPWAY_RAY_ENGINE", "/bin/sh"}, {"SLIPWAY_RAY_JOBS", "allowed"}, {"A", "b"}};
        removeRayVariables(environment);
        QCOMPARE(environment, (Environment{{"A", "b"}}));
    }

    void variablesComeFromEverywhereAndRefer()
    {
        const PodSpec pod = podWith(
            {{"image", "busybox"},
             {"envFrom", json::array({{{"prefix", "P_"}, {"configMapRef", {{"name", "c"}}}}})},
             {"resources", {{"limits", {{"cpu", "1500m"}, {"memory", "1Gi"}}}}},
             {"env",
              json::array(
                  {{{"name", "A"}, {"value", "a"}},
                   {{"name", "B"}, {"value", "$(A)-$(P_x)-$(NONE)-$$(A)-$(WEB_SERVICE_HOST)"}},
                   {{"name", "S"}, {"valueFrom", {{"secretKeyRef", {{"name", "s"}, {"key", "k"}}}}}},
                   {{"name", "O"},
                    {"valueFrom", {{"secretKeyRef", {{"name", "no"}, {"key", "k"}, {"optional", true}}}}}},
                   {{"name", "IP"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "status.podIP"}}}}}},
                   {{"name", "CPU"}, {"valueFrom", {{"resourceFieldRef", {{"resource", "limits.cpu"}}}}}},
                   {{"name", "MEM"},
                    {"valueFrom",
                     {{"resourceFieldRef", {{"resource", "limits.memory"}, {"divisor", "1Mi"}}}}}}})}});
        const json services = json::array(
            {{{"metadata", {{"name", "web"}}},
              {"spec",
               {{"clusterIP", "10.201.0.9"}, {"ports", json::array({{{"name", "http"}, {"port", 80}}})}}}}});
        const auto environment = environmentOf(
            pod, {{"configmaps/c", {{"data", {{"x", "y"}}}}}, {"secrets/s", {{"data", {{"k", "aGVsbG8="}}}}}},
            services);
        QVERIFY2(environment.has_value(), environment ? "" : environment.error().message.c_str());
        QCOMPARE(environment->at("B"), std::string("a-y-$(NONE)-$(A)-127.201.0.9"));
        QCOMPARE(environment->at("S"), std::string("hello"));
        QVERIFY(!environment->contains("O"));
        QCOMPARE(environment->at("IP"), std::string("127.16.0.2"));
        QCOMPARE(environment->at("CPU"), std::string("2"));
        QCOMPARE(environment->at("MEM"), std::string("1024"));
        QCOMPARE(environment->at("WEB_PORT_80_TCP"), std::string("tcp://127.201.0.9:80"));
        QCOMPARE(environment->at("WEB_SERVICE_PORT_HTTP"), std::string("80"));
        QCOMPARE(environment->at("KUBERNETES_SERVICE_PORT"), std::string("6443"));
    }

    void missingReferencesAreSaidInKubeletsWords()
    {
        const auto with = [](const char *kind, const char *name) {
            return podWith(
                {{"env",
                  json::array({{{"name", "S"}, {"valueFrom", {{kind, {{"name", name}, {"key", "k"}}}}}}})}});
        };
        QCOMPARE(environmentOf(with("secretKeyRef", "x")).error().message,
                 std::string("secret \"x\" not found"));
        QCOMPARE(environmentOf(with("configMapKeyRef", "x")).error().message,
                 std::string("configmap \"x\" not found"));
        QCOMPARE(environmentOf(with("secretKeyRef", "s"), {{"secrets/s", {{"data", {{"other", "eA=="}}}}}})
                     .error()
                     .message,
                 std::string("couldn't find key k in Secret default/s"));
    }

    void chipsBringTheDevicePluginsVariables()
    {
        const json node{{"metadata",
                         {{"labels",
                           {{"cloud.google.com/gke-tpu-accelerator", "tpu-v6e-slice"},
                            {"cloud.google.com/gke-tpu-topology", "4x4"}}}}},
                        {"status", {{"capacity", {{"google.com/tpu", "4"}}}}}};
        const PodSpec pod = podWith({{"resources", {{"limits", {{"google.com/tpu", "4"}}}}}});
        const auto environment = environmentOf(pod, {}, json::array(), node);
        QCOMPARE(environment->at("TPU_ACCELERATOR_TYPE"), std::string("v6e-16"));
        QCOMPARE(environment->at("TPU_CHIPS_PER_HOST_BOUNDS"), std::string("2,2,1"));
        QCOMPARE(environment->at("TPU_HOST_BOUNDS"), std::string("2,2,1"));
        QCOMPARE(environment->at("TPU_RUNTIME_METRICS_PORTS"), std::string("8431,8432,8433,8434"));
        QVERIFY(!environment->contains("TPU_WORKER_ID"));
        QVERIFY(!environmentOf(podWith(json::object()), {}, json::array(), node)->contains("TPU_TOPOLOGY"));
    }

    void volumesAreUpdatedAllAtOnce()
    {
        const QTemporaryDir folder;
        const fs::path volume = folder.filePath("v").toStdString();
        QVERIFY(writeFolder(volume, {{"a", {"1", 0600}}, {"deep/b", {"2", 0644}}}).has_value());
        QCOMPARE(textOfFile(volume / "a"), std::string("1"));
        QCOMPARE(textOfFile(volume / "deep/b"), std::string("2"));
        QCOMPARE(fs::status(volume / "a").permissions(), fs::perms(0600));
        const fs::path first = fs::read_symlink(volume / "..data");
        QVERIFY(writeFolder(volume, {{"a", {"1", 0600}}, {"deep/b", {"2", 0644}}}).has_value());
        QCOMPARE(fs::read_symlink(volume / "..data"), first);
        QVERIFY(writeFolder(volume, {{"a", {"3", 0600}}}).has_value());
        QCOMPARE(textOfFile(volume / "a"), std::string("3"));
        QVERIFY(!fs::exists(volume / "deep"));
        QVERIFY(!fs::exists(volume / first));
    }

    void noNameLeadsOutOfAVolume()
    {
        const QTemporaryDir folder;
        const fs::path volume = folder.filePath("v").toStdString();
        for (const char *path : {"../x", "/etc/x", "a/../../x", "..data", "", "a//b", "."})
            QVERIFY2(!writeFolder(volume, {{path, {"1", 0644}}}), path);
        QVERIFY(!fs::exists(folder.filePath("x").toStdString()));
        json container{
            {"name", "main"},
            {"volumeMounts", json::array({{{"name", "e"}, {"mountPath", "/m"}, {"subPath", "../../x"}}})}};
        const PodSpec pod = podOf({{"containers", json::array({container})}});
        QVERIFY(!containerMounts(pod, 0, {{"e", volume}}, {}));
    }

    void volumesOfAllKindsBecomeFolders()
    {
        VolumeFolder folder;
        const fs::path &root = folder.root;
        const auto prepare = [&folder](const json &volume) { return folder.prepare(volume); };
        fs::create_directories(root / "allowed/inner");
        fs::create_symlink("/etc", root / "allowed/out");
        QCOMPARE(textOfFile(prepare({{"name", "v"}, {"secret", {{"secretName", "s"}}}})->at("v") / "k"),
                 std::string("hi"));
        const json projected{
            {"name", "p"},
            {"projected",
             {{"sources",
               json::array({{{"serviceAccountToken", {{"path", "token"}}}},
                            {{"downwardAPI",
                              {{"items",
                                json::array({{{"path", "l"},
                                              {"fieldRef", {{"fieldPath", "metadata.labels"}}}}})}}}}})}}}};
        const auto made = prepare(projected);
        QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
        QCOMPARE(textOfFile(made->at("p") / "token"), std::string("tok"));
        QCOMPARE(textOfFile(made->at("p") / "l"), std::string("l=\"v\""));
        QCOMPARE(prepare({{"name", "c"}, {"persistentVolumeClaim", {{"claimName", "d"}}}})->at("c"),
                 root / "disks/pv-1");
        QVERIFY(prepare({{"name", "h"}, {"hostPath", {{"path", (root / "allowed/inner").string()}}}})
                    .has_value());
        for (const fs::path &path :
             {root / "allowed/out", root / "allowed/../pod", fs::path("/etc"), root / "allowedtoo"})
            QVERIFY(!prepare({{"name", "h"}, {"hostPath", {{"path", path.string()}}}}));
        QCOMPARE(prepare({{"name", "v"}, {"secret", {{"secretName", "gone"}}}}).error().message,
                 std::string("MountVolume.SetUp failed for volume \"v\" : secret \"gone\" not found"));
    }

    void bucketVolumesAskForTheDriverAndItsSidecar()
    {
        VolumeFolder folder;
        const json bucket{
            {"name", "g"},
            {"csi",
             {{"driver", "gcsfuse.csi.storage.gke.io"},
              {"readOnly", true},
              {"volumeAttributes", {{"bucketName", "b"}, {"mountOptions", "implicit-dirs,only-dir=x"}}}}}};
        QCOMPARE(folder.prepare(bucket)->at("g"), folder.root / "buckets/b");
        QVERIFY(folder.buckets.last.isReadOnly);
        QCOMPARE(folder.buckets.last.mountOptions, (std::vector<std::string>{"implicit-dirs", "only-dir=x"}));
        folder.isMarked = false;
        QVERIFY(folder.prepare(bucket).error().message.ends_with(
            "failed to find the sidecar container in Pod spec"));
    }
};

QTEST_GUILESS_MAIN(TestPodInputs)
#include "tst_pod_inputs.moc"
