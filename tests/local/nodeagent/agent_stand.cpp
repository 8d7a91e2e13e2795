#include "tests/local/nodeagent/agent_stand.h"

#include "cluster/local/nodeagent/time_text.h"

#include <QTest>
#include <array>
#include <boost/asio/post.hpp>
#include <poll.h>
#include <unistd.h>

namespace tests {

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

namespace {
constexpr int patience = 60000; // milliseconds; a busy machine
}

AgentStand::AgentStand(KubeClient &client, const std::string &apiUrl, double timeScale)
    : m_client(client), m_guard(m_io.get_executor()), m_thread([this] { m_io.run(); })
{
    options.folder = folder() + "/agent";
    options.imagesFile = SLIPWAY_SOURCE_DIR "/resources/catalog/images.yaml";
    options.initProgram = SLIPWAY_BIN_DIR "/slipway-pod-init";
    options.programsFolder = SLIPWAY_BIN_DIR;
    options.modelsFolder = SLIPWAY_MODELS_DIR;
    // Of this process alone: tests may run side by side.
    options.podCidr = "10." + std::to_string(64 + ::getpid() % 64) + ".0.0/16";
    options.kubernetesServiceHost = "127.0.0.1";
    options.kubernetesServicePort = std::atoi(apiUrl.substr(apiUrl.rfind(':') + 1).c_str());
    options.allowProcess = true;
    options.timeScale = timeScale;
}

AgentStand::~AgentStand()
{
    m_heartbeat = {};
    if (m_agent)
        dropAgent();
    m_guard.reset();
    m_io.stop();
    m_thread.join();
}

void AgentStand::post(std::function<void()> function)
{
    boost::asio::post(m_io, std::move(function));
}

void AgentStand::startAgent()
{
    std::promise<Status> started;
    post([&] {
        m_agent = std::make_unique<NodeAgent>(m_io, m_client, options);
        started.set_value(m_agent->start());
    });
    const Status status = started.get_future().get();
    if (!status)
        qFatal("%s", status.error().message.c_str());
}

void AgentStand::dropAgent()
{
    std::promise<void> dropped;
    post([&] {
        m_agent.reset();
        dropped.set_value();
    });
    dropped.get_future().get();
}

void AgentStand::makeNode(const std::string &name, const json &labels)
{
    json node{{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", name}, {"labels", labels}}}};
    node["status"] = {{"capacity", {{"cpu", "8"}, {"memory", "16Gi"}, {"pods", "110"}}},
                      {"allocatable", {{"cpu", "8"}, {"memory", "16Gi"}, {"pods", "110"}}},
                      {"addresses", json::array({{{"type", "InternalIP"}, {"address", "10.128.7.7"}}})},
                      {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}};
    if (labels.contains("cloud.google.com/gke-tpu-topology"))
        node["status"]["capacity"]["google.com/tpu"] = node["status"]["allocatable"]["google.com/tpu"] = "4";
    const auto made = m_client.create(coreV1("nodes"), node);
    if (!made)
        qFatal("%s", made.error().message.c_str());
    if (m_heartbeat.joinable())
        return; // one that lives on is enough
    m_heartbeat = std::jthread([this, name](const std::stop_token &stop) {
        while (!stop.stop_requested()) {
            beat(name);
            for (int i = 0; i < 50 && !stop.stop_requested(); ++i)
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
    });
}

/// As a node would, so that the node lifecycle controller takes it for alive.
void AgentStand::beat(const std::string &node)
{
    json condition{{"type", "Ready"}, {"status", "True"}};
    condition["lastHeartbeatTime"] = secondsText(std::chrono::system_clock::now());
    const json status{{"status", {{"conditions", json::array({condition})}}}};
    (void)m_client.patch(coreV1("nodes").named(node).sub("status"), PatchType::Strategic, status);
}

void AgentStand::makePod(const std::string &name, json spec, json metadata)
{
    metadata["name"] = name;
    if (!spec.contains("automountServiceAccountToken"))
        spec["automountServiceAccountToken"] = false;
    spec["nodeName"] = spec.value("nodeName", "n1");
    const json pod{{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", metadata}, {"spec", spec}};
    const auto made = m_client.create(coreV1("pods", "default"), pod);
    if (!made)
        qFatal("%s", made.error().message.c_str());
}

json AgentStand::pod(const std::string &name)
{
    const auto pod = m_client.get(coreV1("pods", "default", name));
    return pod ? *pod : json();
}

json AgentStand::waitFor(const std::string &name, const std::function<bool(const json &)> &holds)
{
    json found;
    const bool isFound = QTest::qWaitFor(
        [&] {
            found = pod(name);
            return !found.is_null() && holds(found);
        },
        patience);
    if (!isFound)
        qWarning("%s\n%s", found["status"].dump(1).c_str(), events(name).c_str());
    return isFound ? found : json();
}

bool AgentStand::waitGone(const std::string &name)
{
    return QTest::qWaitFor([&] { return pod(name).is_null(); }, patience);
}

bool AgentStand::waitForPhase(const std::string &name, const std::string &phase)
{
    return !waitFor(name, [&](const json &pod) {
                return pod["status"].value("phase", "") == phase;
            }).is_null();
}

bool AgentStand::waitReady(const std::string &name)
{
    const json found = waitFor(name, [](const json &pod) {
        for (const json &condition : pod["status"].value("conditions", json::array())) {
            if (condition["type"] == "Ready")
                return condition["status"] == "True";
        }
        return false;
    });
    return !found.is_null();
}

std::string AgentStand::waitForLog(const std::string &name, const std::string &text,
                                   const LogOptions &options)
{
    std::string log;
    const bool isThere = QTest::qWaitFor(
        [&] {
            log = onIo([&](NodeAgent &agent) -> std::string {
                auto reader = agent.access().openLog({"default", name, {}}, {}, options);
                if (!reader)
                    return reader.error().message;
                const auto part = (*reader)->read(std::size_t{1} << 20);
                return part ? *part : part.error().message;
            });
            return log.find(text) != std::string::npos;
        },
        patience);
    if (!isThere)
        qWarning("the log is: %s", log.c_str());
    return log;
}

std::string AgentStand::events(const std::string &name)
{
    KubeListOptions of;
    of.fieldSelector = "involvedObject.name=" + name;
    const auto list = m_client.list(coreV1("events", "default"), of);
    std::string text;
    for (const json &event : list ? list->items : std::vector<json>())
        text += event.value("reason", "") + ": " + event.value("message", "") + " ("
            + event.value("count", json(1)).dump() + ")\n";
    return text;
}

bool AgentStand::waitForEvent(const std::string &name, const std::string &text)
{
    const bool isThere
        = QTest::qWaitFor([&] { return events(name).find(text) != std::string::npos; }, patience);
    if (!isThere)
        qWarning("%s", events(name).c_str());
    return isThere;
}

std::pair<int, std::string> AgentStand::exec(const std::string &name, std::vector<std::string> command)
{
    std::promise<ProcessEnd> ended;
    std::unique_ptr<ContainerProcess> process;
    int output = -1;
    const std::string error = onIo([&](NodeAgent &agent) -> std::string {
        auto made = agent.access().exec({"default", name, {}}, {}, {std::move(command)});
        if (!made)
            return made.error().message;
        process = std::move(*made);
        output = process->takeStdout();
        process->whenEnded([&](const ProcessEnd &end) { ended.set_value(end); });
        return {};
    });
    if (!error.empty())
        return {-1, error};
    std::string text;
    std::array<char, 4096> buffer{};
    for (;;) {
        pollfd item{output, POLLIN, 0};
        ::poll(&item, 1, patience);
        const ssize_t size = ::read(output, buffer.data(), buffer.size());
        if (size <= 0)
            break;
        text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    ::close(output);
    const ProcessEnd end = ended.get_future().get();
    onIo([&](NodeAgent &) {
        process.reset();
        return true;
    });
    return {end.exitCode, text + end.error};
}

void AgentTest::begin(const std::function<void(AgentStand &)> &prepare)
{
    m_plane = std::make_unique<RealPlane>(true);
    if (!m_plane->missing().empty())
        QSKIP(m_plane->missing().c_str());
    QVERIFY2(m_plane->failure().empty(), m_plane->failure().c_str());
    // The controller makes it as well, but pods need it at once.
    const json account{{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}};
    m_plane->client().create(coreV1("serviceaccounts", "default"), account);
    m_stand = std::make_unique<AgentStand>(m_plane->client(), m_plane->client().endpoint().url, 10);
    if (prepare)
        prepare(*m_stand);
    m_stand->makeNode("n1");
    m_stand->startAgent();
}

void AgentTest::end()
{
    m_stand.reset();
    m_plane.reset();
}

} // namespace tests
