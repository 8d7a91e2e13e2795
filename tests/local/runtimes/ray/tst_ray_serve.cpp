#include "cluster/local/runtimes/ray/head_codec.h"
#include "cluster/local/runtimes/ray/imagine_replicas.h"
#include "cluster/local/runtimes/ray/llm_ingress.h"
#include "cluster/local/runtimes/ray/metrics_page.h"
#include "cluster/local/runtimes/ray/node_table.h"
#include "cluster/local/runtimes/ray/placeholder_picture.h"
#include "cluster/local/runtimes/ray/serve_config.h"
#include "cluster/local/runtimes/ray/serve_controller.h"
#include "cluster/local/runtimes/ray/target_pool.h"
#include "cluster/local/runtimes/ray/worker_codec.h"

#include <QTest>
#include <algorithm>
#include <zlib.h>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const RayVariable noVariables = [](const std::string &) { return std::string(); };

/// The cluster's nodes as the controller sees them; what it asks of them is written down.
class FakeNodes : public ServeNodes
{
public:
    [[nodiscard]] std::vector<ServeNode> alive() const override { return nodes; }
    void startReplica(const std::string &node, const ServeReplicaSpec &spec) override
    {
        started.emplace_back(node, spec);
    }
    void stopReplica(const std::string &, const std::string &replica) override { stopped.push_back(replica); }
    void setPeers(const std::string &, const std::string &replica,
                  const std::vector<ServeTarget> &targets) override
    {
        peers[replica] = targets;
    }
    void setProxy(const std::string &node, const ServeProxyPlan &plan) override { proxies[node] = plan; }

    std::vector<ServeNode> nodes{{"head", "10.0.0.1", "head", true, {{"CPU", 2}}},
                                 {"worker", "10.0.0.2", "worker", false, {{"CPU", 100}, {"TPU", 4}}}};
    std::vector<std::pair<std::string, ServeReplicaSpec>> started;
    std::vector<std::string> stopped;
    std::map<std::string, std::vector<ServeTarget>> peers;
    std::map<std::string, ServeProxyPlan> proxies;
};

/// A controller and its clock.
struct Stand
{
    FakeNodes nodes;
    ServeController controller{nodes, noVariables, RayTimings()};
    RayClock::time_point now{seconds(1000)};
    std::size_t ready = 0; ///< of nodes.started

    void apply(const json &config)
    {
        const auto parsed = parseServeConfig(config.dump());
        QVERIFY(parsed.has_value());
        controller.apply(*parsed, now);
    }
    void pass(milliseconds time)
    {
        for (milliseconds step(0); step < time; step += milliseconds(100)) {
            now += milliseconds(100);
            controller.step(now);
        }
    }
    void makeAllReady()
    {
        for (const std::size_t all = nodes.started.size(); ready < all; ++ready) {
            const auto [node, spec] = nodes.started[ready];
            const auto port = static_cast<unsigned short>(40000 + ready);
            controller.onReplicaReady({spec.id, node == "head" ? "10.0.0.1" : "10.0.0.2", port, 7}, now);
        }
        controller.step(now);
    }
    const ServeApp &app(const std::string &name) { return controller.state().apps.at(name); }
    const ServeDeployment &deployment(const std::string &app, const std::string &name)
    {
        const auto &all = controller.state().apps.at(app).deployments;
        return *std::find_if(all.begin(), all.end(),
                             [&name](const auto &one) { return one.blueprint.name == name; });
    }
    ServeDeploymentStatus status(const std::string &app, const std::string &name)
    {
        return deployment(app, name).status;
    }
};

json tpuApp(const json &deployments = json::array())
{
    return {{"applications",
             json::array(
                 {{{"name", "sd"},
                   {"import_path", "ai-ml.gke-ray.rayserve.stable-diffusion.stable_diffusion_tpu:deployment"},
                   {"deployments", deployments}}})}};
}

ServerRequest get(const std::string &path, QueryFields query = {})
{
    ServerRequest request;
    request.method = "GET";
    request.path = path;
    request.query = std::move(query);
    return request;
}

ServerRequest post(const std::string &path, const std::string &body)
{
    ServerRequest request;
    request.method = "POST";
    request.path = path;
    request.body = body;
    return request;
}

/// Pixels of a PNG of ours: RGB, no filter.
std::string inflated(const std::string &png)
{
    const std::size_t data = png.find("IDAT");
    std::string rows(4'000'000, '\0');
    uLongf size = rows.size();
    if (data == std::string::npos
        || ::uncompress(reinterpret_cast<Bytef *>(rows.data()), &size,
                        reinterpret_cast<const Bytef *>(png.data() + data + 4), png.size() - data - 4)
            != Z_OK)
        return {};
    rows.resize(size);
    return rows;
}

} // namespace

class TestRayServe : public QObject
{
    Q_OBJECT

private slots:
    void aConfigIsReadAsTheSchemaHasIt()
    {
        const auto config = parseServeConfig(
            R"({"http_options":{"host":"0.0.0.0","port":8001},"applications":[{"name":"llm","import_path":)"
            R"("a.b:c","runtime_env":{"env_vars":{"MODEL_ID":"m"}},"colour":"red","deployments":[{"name":"D",)"
            R"("num_replicas":2}]}]})");
        QVERIFY(config.has_value());
        QCOMPARE(config->port, static_cast<unsigned short>(8001));
        QCOMPARE(config->apps.size(), std::size_t{1});
        const ServeAppConfig &app = config->apps[0];
        QCOMPARE(app.importPath, std::string("a.b:c"));
        QCOMPARE(app.variables.at("MODEL_ID"), std::string("m"));
        QCOMPARE(app.deployments.at("D")["num_replicas"].get<int>(), 2);
        QVERIFY(!app.given.contains("colour")); // unknown fields are ignored, and not shown
    }

    void aWrongConfigIsRefused_data()
    {
        QTest::addColumn<QString>("body");
        QTest::addColumn<int>("status");
        QTest::addColumn<QString>("words");
        QTest::newRow("no JSON") << "{oops" << 500 << "json.decoder.JSONDecodeError: ";
        QTest::newRow("a list") << "[]" << 500 << "must be a mapping, not list";
        QTest::newRow("no applications") << "{}" << 400 << "applications\n  Field required [type=missing";
        QTest::newRow("applications are no list")
            << R"({"applications":3})" << 400
            << "Input should be a valid list [type=list_type, input_value=3, input_type=int]";
        QTest::newRow("two faults")
            << R"({"applications":[{},{"import_path":3}]})" << 400
            << "2 validation errors for ServeDeploySchema\napplications.0.import_path";
        QTest::newRow("path without an attribute")
            << R"({"applications":[{"import_path":"app"}]})" << 400
            << "Got invalid import path \"app\". An import path must contain";
        QTest::newRow("two colons") << R"({"applications":[{"import_path":"a:b:c"}]})" << 400
                                    << "at most one colon";
        QTest::newRow("route without a slash")
            << R"({"applications":[{"import_path":"a:b","route_prefix":"x"}]})" << 400
            << "Route prefix must start with \"/\"";
        QTest::newRow("a name twice")
            << R"({"applications":[{"import_path":"a:b"},{"import_path":"a:b","route_prefix":"/b"}]})" << 400
            << "duplicate applications";
        QTest::newRow("a port too high")
            << R"({"applications":[],"http_options":{"port":65536}})" << 400 << "http_options.port";
    }

    void aWrongConfigIsRefused()
    {
        QFETCH(QString, body);
        QFETCH(int, status);
        QFETCH(QString, words);
        const auto config = parseServeConfig(body.toStdString());
        QVERIFY(!config);
        QCOMPARE(config.error().status, status);
        QVERIFY2(QString::fromStdString(config.error().text).contains(words), config.error().text.c_str());
    }

    void deepNestingIsCutOff()
    {
        const std::string deep
            = R"({"applications":[{"import_path":"a:b","args":)" + std::string(200'000, '[') + "}]}";
        QVERIFY(!parseServeConfig(deep));
    }

    void anApplicationGoesThroughServesStates()
    {
        Stand stand;
        stand.apply(tpuApp());
        QCOMPARE(nameOf(stand.app("sd").status), "DEPLOYING");
        QVERIFY(stand.app("sd").deployments.empty()); // the build task runs
        QVERIFY(stand.nodes.proxies.contains("head")); // the head's proxy is there at once
        QVERIFY(!stand.nodes.proxies["head"].isPopulated);
        QVERIFY(!stand.nodes.proxies.contains("worker"));
        stand.pass(milliseconds(1100));
        QCOMPARE(stand.app("sd").deployments.size(), std::size_t{2});
        QCOMPARE(stand.deployment("sd", "APIIngress").trigger, std::string("CONFIG_UPDATE_STARTED"));
        QCOMPARE(stand.nodes.started.size(), std::size_t{2});
        QVERIFY(stand.nodes.proxies["head"].isPopulated);
        for (const auto &[node, spec] : stand.nodes.started)
            QCOMPARE(node, std::string("worker")); // the model's TPUs are there, and it is not the head
        QVERIFY(stand.nodes.proxies.contains("worker"));
        stand.makeAllReady();
        QCOMPARE(nameOf(stand.app("sd").status), "RUNNING");
        QCOMPARE(nameOf(stand.status("sd", "StableDiffusion")), "HEALTHY");
        QCOMPARE(stand.deployment("sd", "StableDiffusion").trigger, std::string("CONFIG_UPDATE_COMPLETED"));
        QCOMPARE(stand.nodes.peers.size(), std::size_t{1}); // the ingress knows its model
        stand.controller.step(stand.now);
        QCOMPARE(stand.nodes.proxies["head"].routes.at(0).targets.size(), std::size_t{1});
    }

    void anUnknownImportPathFails()
    {
        Stand stand;
        stand.apply(
            {{"applications", json::array({{{"name", "broken"}, {"import_path", "no_such_module:app"}}})}});
        stand.pass(milliseconds(1100));
        QCOMPARE(nameOf(stand.app("broken").status), "DEPLOY_FAILED");
        const QString message = QString::fromStdString(stand.app("broken").message);
        QVERIFY2(message.startsWith("Deploying app 'broken' failed with exception:\n"), qPrintable(message));
        QVERIFY2(message.endsWith("ModuleNotFoundError: No module named 'no_such_module'"),
                 qPrintable(message));
        QVERIFY(stand.app("broken").deployments.empty());
        // The next config repairs it.
        stand.apply(
            {{"applications",
              json::array({{{"name", "broken"}, {"import_path", "stable_diffusion_tpu:deployment"}}})}});
        stand.pass(milliseconds(1100));
        stand.makeAllReady();
        QCOMPARE(nameOf(stand.app("broken").status), "RUNNING");
    }

    void theSameConfigAgainChangesNothing()
    {
        Stand stand;
        stand.apply(tpuApp());
        stand.pass(milliseconds(1100));
        stand.makeAllReady();
        stand.apply(tpuApp());
        QCOMPARE(nameOf(stand.app("sd").status), "RUNNING");
        stand.pass(seconds(3));
        QVERIFY(stand.nodes.stopped.empty());
        stand.apply({{"applications", json::array()}});
        QCOMPARE(nameOf(stand.app("sd").status), "DELETING");
        stand.pass(seconds(3));
        QVERIFY(stand.controller.state().apps.empty());
        QVERIFY(stand.controller.state().isStarted);
    }

    void noRoomIsSaidAfterHalfAMinute()
    {
        Stand stand;
        stand.nodes.nodes.pop_back(); // no TPU anywhere
        stand.apply(tpuApp());
        stand.pass(seconds(20));
        QCOMPARE(stand.deployment("sd", "StableDiffusion").message, std::string());
        stand.pass(seconds(15));
        const QString message = QString::fromStdString(stand.deployment("sd", "StableDiffusion").message);
        QVERIFY2(
            message.startsWith("Deployment 'StableDiffusion' in application 'sd' has 1 replicas that have "
                               "taken more than 30s to be scheduled."),
            qPrintable(message));
        stand.nodes.nodes.push_back({"late", "10.0.0.2", "late", false, {{"CPU", 4}, {"TPU", 4}}});
        stand.pass(milliseconds(200));
        stand.makeAllReady();
        QCOMPARE(nameOf(stand.app("sd").status), "RUNNING");
    }

    void replicasFollowTheRequestsInHand()
    {
        Stand stand;
        stand.nodes.nodes[1].resources["TPU"] = 16;
        stand.apply(tpuApp(json::array({{{"name", "StableDiffusion"},
                                         {"autoscaling_config",
                                          {{"min_replicas", 1},
                                           {"max_replicas", 3},
                                           {"target_ongoing_requests", 2},
                                           {"look_back_period_s", 2},
                                           {"upscale_delay_s", 3},
                                           {"downscale_delay_s", 15}}}}})));
        stand.pass(milliseconds(1100));
        stand.makeAllReady();
        const auto count = [&stand] { return stand.deployment("sd", "StableDiffusion").replicas.size(); };
        const std::string first = stand.deployment("sd", "StableDiffusion").replicas[0].spec.id;
        stand.controller.onTraffic("worker", {{{first, 5}}, {}});
        stand.pass(milliseconds(2500));
        QCOMPARE(count(), std::size_t{1}); // the delay is not over
        stand.pass(seconds(4));
        QCOMPARE(stand.deployment("sd", "StableDiffusion").target, 3);
        QCOMPARE(nameOf(stand.status("sd", "StableDiffusion")), "UPSCALING");
        QCOMPARE(stand.deployment("sd", "StableDiffusion").trigger, std::string("AUTOSCALING"));
        QCOMPARE(nameOf(stand.app("sd").status), "RUNNING");
        stand.makeAllReady();
        QCOMPARE(stand.deployment("sd", "StableDiffusion").trigger, std::string("UPSCALE_COMPLETED"));
        stand.controller.onTraffic("worker", {});
        stand.pass(seconds(10));
        QCOMPARE(count(), std::size_t{3});
        stand.pass(seconds(6));
        QCOMPARE(stand.deployment("sd", "StableDiffusion").message,
                 std::string("Downscaling from 3 to 1 replicas."));
        stand.pass(seconds(3));
        QCOMPARE(count(), std::size_t{1});
        QCOMPARE(stand.deployment("sd", "StableDiffusion").replicas[0].spec.id, first); // the oldest stays
        QCOMPARE(stand.deployment("sd", "StableDiffusion").trigger, std::string("DOWNSCALE_COMPLETED"));
    }

    void aLostNodesReplicasAreReplaced()
    {
        Stand stand;
        stand.nodes.nodes.push_back({"other", "10.0.0.3", "other", false, {{"CPU", 4}, {"TPU", 4}}});
        stand.apply(tpuApp());
        stand.pass(milliseconds(1100));
        stand.makeAllReady();
        const std::string node = stand.deployment("sd", "StableDiffusion").replicas[0].node;
        std::erase_if(stand.nodes.nodes, [&node](const ServeNode &one) { return one.id == node; });
        stand.controller.onNodeLost(node, stand.now);
        QCOMPARE(nameOf(stand.app("sd").status), "UNHEALTHY");
        QCOMPARE(stand.deployment("sd", "StableDiffusion").trigger, std::string("HEALTH_CHECK_FAILED"));
        QVERIFY(!stand.controller.state().proxies.contains(node));
        QVERIFY(stand.deployment("sd", "StableDiffusion").replicas[0].node != node);
        stand.makeAllReady();
        QCOMPARE(nameOf(stand.app("sd").status), "RUNNING");
        QCOMPARE(stand.deployment("sd", "StableDiffusion").trigger, std::string("UNSPECIFIED"));
    }

    void aReplicaThatNeverStartsIsGivenUp()
    {
        Stand stand;
        stand.apply(tpuApp());
        stand.pass(milliseconds(1100));
        for (int attempt = 0; attempt < 3; ++attempt) {
            const auto &replicas = stand.deployment("sd", "StableDiffusion").replicas;
            const auto starting = std::find_if(replicas.begin(), replicas.end(), [](const ServeReplica &one) {
                return one.state == ServeReplicaState::Starting;
            });
            QVERIFY(starting != replicas.end());
            stand.controller.onReplicaFailed(std::string(starting->spec.id), "no such model", stand.now);
            stand.pass(seconds(3)); // the one before holds its TPUs until it is gone
        }
        QCOMPARE(nameOf(stand.status("sd", "StableDiffusion")), "DEPLOY_FAILED");
        QCOMPARE(nameOf(stand.app("sd").status), "DEPLOY_FAILED");
        QVERIFY(stand.deployment("sd", "StableDiffusion").message.find("no such model") != std::string::npos);
    }

    void aMultiHostModelTakesItsSlice()
    {
        Stand stand;
        stand.nodes.nodes = {{"head", "10.0.0.1", "head", true, {{"CPU", 2}}}};
        for (int host = 0; host < 4; ++host)
            stand.nodes.nodes.push_back(
                {"host" + std::to_string(host), "10.0.0.2", "h", false, {{"CPU", 20}, {"TPU", 4}}});
        stand.apply(
            {{"applications",
              json::array({{{"name", "llm"},
                            {"import_path", "ai-ml.gke-ray.rayserve.llm.tpu.serve_tpu_multihost:deployment"},
                            {"runtime_env", {{"env_vars", {{"MODEL_ID", "org/m.1"}}}}}}})}});
        stand.pass(milliseconds(1100));
        const ServeDeployment &server = stand.deployment("llm", "LLMServer:org--m_1");
        QCOMPARE(server.replicas[0].shardNodes.size(), std::size_t{3});
        const std::string main = server.replicas[0].node;
        const auto mainStarts = [&] {
            return std::count_if(stand.nodes.started.begin(), stand.nodes.started.end(),
                                 [](const auto &one) { return one.second.role == ServeRole::LlmServer; });
        };
        QCOMPARE(mainStarts(), std::ptrdiff_t{0}); // its further hosts come first
        stand.makeAllReady();
        QCOMPARE(mainStarts(), std::ptrdiff_t{1});
        QCOMPARE(nameOf(stand.app("llm").status), "DEPLOYING");
        QCOMPARE(stand.nodes.started.back().second.arguments["workers"].size(), std::size_t{3});
        stand.makeAllReady();
        QCOMPARE(nameOf(stand.app("llm").status), "RUNNING");
        // Only nodes with a Serve replica have a proxy: the slice's other hosts don't.
        QVERIFY(stand.nodes.proxies.size() <= 3);
        QVERIFY(stand.nodes.proxies.contains(main));
    }

    void deleteEndsAll()
    {
        Stand stand;
        stand.apply(tpuApp());
        stand.pass(milliseconds(1100));
        stand.makeAllReady();
        bool isDone = false;
        stand.controller.shutDown(stand.now, [&isDone] { isDone = true; });
        QVERIFY(!isDone);
        stand.pass(seconds(3));
        QVERIFY(isDone);
        QVERIFY(!stand.controller.state().isStarted);
        QVERIFY(!stand.nodes.proxies["head"].isOn);
    }

    void nodesDieWithRaysDelays()
    {
        NodeTable nodes{RayTimings()};
        const RayClock::time_point start{seconds(1000)};
        nodes.add({}, true, start);
        RayNodeFacts facts;
        facts.name = "w";
        const std::string killed = nodes.add(facts, false, start), hung = nodes.add(facts, false, start),
                          stopped = nodes.add(facts, false, start);
        nodes.onBye(stopped);
        nodes.onConnectionLost(stopped, start);
        nodes.onConnectionLost(killed, start);
        QCOMPARE(nodes.step(start).dead, std::vector<std::string>{stopped});
        QCOMPARE(nodes.find(stopped)->stateMessage(), std::string("Expected termination: received SIGTERM"));
        QVERIFY(nodes.step(start + milliseconds(3900)).unreachable.empty());
        QCOMPARE(nodes.step(start + seconds(4)).unreachable, std::vector<std::string>{killed});
        QVERIFY(nodes.step(start + milliseconds(14900)).dead.empty());
        QCOMPARE(nodes.step(start + seconds(15)).dead, std::vector<std::string>{killed});
        QVERIFY(nodes.step(start + seconds(63)).dead.empty());
        QCOMPARE(nodes.step(start + seconds(64)).dead, std::vector<std::string>{hung});
        QVERIFY(nodes.all()[0].isAlive());
    }

    void bothEndsOfTheJoinUnderstandEachOther()
    {
        RayNodeFacts facts;
        facts.ip = "127.16.0.2";
        facts.resources = {{"TPU", 4}, {"memory", 2e11}};
        facts.labels = {{"a", "b"}};
        const auto hello = readWorkerMessage(helloLine(facts));
        QVERIFY(hello.has_value());
        QCOMPARE(std::get<WorkerHello>(*hello).facts.resources, facts.resources);
        QCOMPARE(std::get<WorkerHello>(*hello).facts.labels, facts.labels);
        QCOMPARE(std::get<WorkerHello>(*hello).protocol, joinProtocol);
        const auto beat = readWorkerMessage(beatLine({}, {{{"r", 3}}, {{"r", 9}}}));
        QVERIFY(beat.has_value());
        QCOMPARE(std::get<WorkerBeat>(*beat).traffic.ongoing.at("r"), 3);
        const auto ready = readWorkerMessage(replicaReadyLine({"r", "127.16.0.2", 4000, 12}));
        QCOMPARE(std::get<ServeReplicaReady>(ready.value()).port, static_cast<unsigned short>(4000));
        const auto failed = readWorkerMessage(replicaFailedLine("r", std::string(9000, 'x')));
        QVERIFY(failed.has_value());
        QVERIFY(std::holds_alternative<WorkerBye>(readWorkerMessage(byeLine()).value()));
        QVERIFY(std::holds_alternative<WorkerProxyReady>(readWorkerMessage(proxyReadyLine()).value()));

        ServeProxyPlan plan;
        plan.isOn = plan.isPopulated = true;
        plan.routes = {{"app", "/", {{"r", "D", "127.16.0.2", 4000, 5}}}};
        QVERIFY(std::get<HeadProxy>(readHeadMessage(proxyLine(plan)).value()).plan == plan);
        const auto start
            = readHeadMessage(startReplicaLine({"r", "a", "d", ServeRole::LlmShard, {{"x", 1}}}));
        QCOMPARE(std::get<HeadStart>(start.value()).spec.role, ServeRole::LlmShard);
        QVERIFY(std::get<HeadStart>(start.value()).spec.arguments == (json{{"x", 1}}));
        QCOMPARE(std::get<HeadWelcome>(readHeadMessage(welcomeLine("n", "s")).value()).session,
                 std::string("s"));
        QCOMPARE(std::get<HeadPeers>(readHeadMessage(peersLine("r", plan.routes[0].targets)).value()).targets,
                 plan.routes[0].targets);
    }

    void wrongMessagesAreRefused()
    {
        for (const char *line :
             {"", "[]", "{}", "x", R"({"hello":{}})", R"({"hello":3})", R"({"nope":{}})",
              R"({"beat":{"cpu":"x"}})", R"({"ready":{"replica":"r","host":"h","port":70000,"pid":1}})",
              R"({"ready":{"replica":"r","host":"h","port":-1,"pid":1}})", R"({"bye":{},"proxy":{}})"})
            QVERIFY2(!readWorkerMessage(line), line);
        for (const char *line : {"", "[]", R"({"welcome":{}})", R"({"start":{"replica":"r"}})",
                                 R"({"proxy":{"is_on":1}})", R"({"peers":{"replica":"r","targets":{}}})"})
            QVERIFY2(!readHeadMessage(line), line);
    }

    void imagineChecksItsQueryAsFastApi()
    {
        QCOMPARE(readImagineRequest(get("/imagine", {{"prompt", "a cat"}}), true)->size, 512);
        QCOMPARE(readImagineRequest(get("/imagine", {{"prompt", "a"}, {"img_size", "256"}}), true)->size,
                 256);
        QCOMPARE(readImagineRequest(get("/imagine", {{"prompt", "a"}, {"img_size", "x"}}), false)->size, 512);
        const auto missing = readImagineRequest(get("/imagine"), true);
        QCOMPARE(missing.error().status, 422);
        QCOMPARE(missing.error().body,
                 (json{{"detail",
                        json::array({{{"type", "missing"},
                                      {"loc", {"query", "prompt"}},
                                      {"msg", "Field required"},
                                      {"input", nullptr}}})}})
                     .dump());
        for (const auto &[size, status] :
             {std::pair("x", 422), std::pair("32", 422), std::pair("2048", 422), std::pair("100", 500)})
            QCOMPARE(readImagineRequest(get("/imagine", {{"prompt", "a"}, {"img_size", size}}), true)
                         .error()
                         .status,
                     status);
        QCOMPARE(readImagineRequest(get("/imagine", {{"prompt", ""}}), true).error().status, 500);
    }

    void aPlaceholderIsAPictureOfItsPrompt()
    {
        const std::string png = placeholderPicture("A sunset at the beach.", 64);
        QVERIFY(png.starts_with("\x89PNG\r\n\x1a\n"));
        QCOMPARE(inflated(png).size(), std::size_t{64 * (64 * 3 + 1)});
        QVERIFY(png.find("placeholder") != std::string::npos); // its metadata say so
        const std::string large = inflated(placeholderPicture("A sunset at the beach.", 512));
        QCOMPARE(large.size(), std::size_t{512 * (512 * 3 + 1)});
        QVERIFY(large != inflated(placeholderPicture("Another one", 512)));
        QVERIFY(!placeholderPicture("", 64).empty());
        QVERIFY(!placeholderPicture(std::string(5000, 'x') + "\xC3\xA4\xFF\n", 72).empty());
    }

    void languageModelsAnswerInRaysShapes()
    {
        const std::vector<LlmModel> models{{"smollm2", "LLMServer:smollm2", 512}};
        QCOMPARE(decideLlmRequest(post("/v1/completions", R"({"prompt":"x"})"), models, "id").deployment,
                 std::string("LLMServer:smollm2")); // a missing model is the only one
        QCOMPARE(decideLlmRequest(get("/health"), models, "id").answer->status, 404);
        QCOMPARE(decideLlmRequest(get("/v1/completions"), models, "id").answer->status, 405);
        const auto broken = decideLlmRequest(post("/v1/completions", "{"), models, "id").answer;
        QCOMPARE(broken->status, 400);
        QCOMPARE(json::parse(broken->body)["error"]["code"].get<std::string>(),
                 std::string("invalid_parameter"));
        ServerRequest text = post("/v1/completions", "{}");
        text.headers = {{"Content-Type", "text/plain"}};
        QCOMPARE(decideLlmRequest(text, models, "id").answer->status, 500);
        const auto error = llmError(400, R"({"error":{"message":"too long"}})", "id");
        QCOMPARE(
            json::parse(error.body)["error"]["message"].get<std::string>(),
            std::string("Message: too long (Request ID: id), Internal exception: "
                        "ray.llm._internal.serve.core.configs.openai_api_models.OpenAIHTTPException (Request "
                        "ID: id), original exception: "));
    }

    void requestsGoWhereFewestAre()
    {
        const auto pool = std::make_shared<TargetPool>();
        std::vector<std::shared_ptr<TargetLease>> leases;
        const auto take
            = [&] { pool->acquire("", nullptr, [&](auto lease) { leases.push_back(std::move(lease)); }); };
        take();
        QVERIFY(leases.empty()); // waits for a replica
        pool->setTargets({{"a", "D", "h", 1, 2}, {"b", "D", "h", 2, 2}});
        QCOMPARE(leases.size(), std::size_t{1});
        take();
        take();
        take();
        take();
        QCOMPARE(leases.size(), std::size_t{4}); // both are full
        QCOMPARE(pool->waitingCount(), std::size_t{1});
        QVERIFY(leases[0]->target().replica != leases[1]->target().replica);
        std::map<std::string, int> counts;
        pool->addOngoing(counts);
        QCOMPARE(counts["a"] + counts["b"], 5);
        leases.erase(leases.begin());
        QCOMPARE(leases.size(), std::size_t{4});
        QCOMPARE(pool->waitingCount(), std::size_t{0});
    }

    void anEnginesMetricsAreRaysToo()
    {
        QCOMPARE(engineMetrics("# TYPE vllm:num_requests_running gauge\n"
                               "vllm:num_requests_running{engine=\"0\"} 1.0\nvllm:x 2\nprocess_x 1\n",
                               "r1"),
                 std::string("# TYPE ray_vllm_num_requests_running gauge\n"
                             "ray_vllm_num_requests_running{ReplicaId=\"r1\",engine=\"0\"} 1.0\n"
                             "ray_vllm_x{ReplicaId=\"r1\"} 2\n"));
    }
};

QTEST_GUILESS_MAIN(TestRayServe)
#include "tst_ray_serve.moc"
