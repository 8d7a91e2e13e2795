// The real etcd, Kubernetes and KubeRay under our supervision. Skipped where they are not built.
#include "cluster/local/controlplane/control_plane.h"
#include "cluster/local/controlplane/control_plane_programs.h"
#include "tests/local/controlplane/listening_sockets.h"

#include "cluster/net/http_client.h"

#include <QCoreApplication>
#include <QTemporaryDir>
#include <QTest>
#include <array>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include <sys/wait.h>
#include <unistd.h>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr std::array rayKinds{"rayclusters", "rayjobs", "rayservices"};
constexpr int patience = 240000; // ms, for conditions that are awaited; a busy machine takes its time

std::optional<fs::path> programs()
{
    auto found = findControlPlanePrograms(controlPlaneFolders({}));
    return found ? std::optional(*found) : std::nullopt;
}

ControlPlaneOptions optionsFor(const QTemporaryDir &dir, const char *name)
{
    ControlPlaneOptions options;
    options.name = name;
    options.dir = fs::path(dir.path().toStdString()) / name;
    options.programs = programs().value_or(fs::path());
    return options;
}

bool isAlive(std::int64_t pid)
{
    QFile stat("/proc/" + QString::number(pid) + "/stat");
    return stat.open(QIODevice::ReadOnly) && !stat.readAll().contains(") Z ");
}

/// The calls a client would make.
class Api
{
public:
    explicit Api(ControlPlaneEndpoint endpoint) : m_endpoint(std::move(endpoint)) {}

    int status(const std::string &method, const std::string &path, const json &body = nullptr)
    {
        HttpRequest request;
        request.method = method;
        request.url = m_endpoint.url + path;
        request.headers
            = {{"Authorization", "Bearer " + m_endpoint.adminToken}, {"Content-Type", "application/json"}};
        if (!body.is_null())
            request.body = body.dump();
        HttpOptions options;
        options.caFile = m_endpoint.caFile.string();
        options.deadline = Deadline::after(std::chrono::seconds{10});
        const auto response = m_http.send(request, options);
        return response ? response->status : 0;
    }
    bool has(const std::string &path) { return status("GET", path) == 200; }
    // Asked again it is true as well: the QTRY macros evaluate what they are given more than once.
    bool makeNamespace(const std::string &name)
    {
        return make("/api/v1/namespaces", {{"metadata", {{"name", name}}}});
    }
    bool makeConfigMap(const std::string &name)
    {
        return make(configMaps, {{"metadata", {{"name", name}}}, {"data", {{"kept", "yes"}}}});
    }
    bool hasConfigMap(const std::string &name) { return has(configMaps + ("/" + name)); }

private:
    bool make(const std::string &path, const json &object)
    {
        const int code = status("POST", path, object);
        return code == 201 || code == 409;
    }

    static constexpr const char *configMaps = "/api/v1/namespaces/default/configmaps";
    ControlPlaneEndpoint m_endpoint;
    HttpClient m_http;
};

/// In a process of its own that is killed later: starts, and tells its pipe the port and the pids.
[[noreturn]] void runAndTell(const ControlPlaneOptions &options, int pipe)
{
    ControlPlane plane(options);
    const auto endpoint = plane.start();
    json told = {{"ok", endpoint.has_value()}, {"pids", json::array()}};
    for (const ProcessState &process : plane.state().processes)
        told["pids"].push_back(process.pid);
    if (endpoint)
        told["written"] = Api(*endpoint).makeConfigMap("acknowledged");
    const std::string text = told.dump();
    [[maybe_unused]] const auto written = ::write(pipe, text.data(), text.size());
    ::close(pipe);
    for (;;)
        ::pause();
}

} // namespace

class TestControlPlane : public QObject
{
    Q_OBJECT

private slots:
    void nothingAcknowledgedIsLostWhenAllIsKilledAtOnce(); // first: it forks, and no thread runs yet
    void theControllersAndRaysKindsAreThere();
    void onlyTheApiServerListensAndOnlyOnLoopback();
    void aSecondOneInTheSameFolderIsRefused();
    void eachKilledProcessComesBack_data();
    void eachKilledProcessComesBack();
    void allKilledComeBack();
    void stoppingLeavesNoProcessAndTheNextStartHasAll();

private:
    std::int64_t pidOf(const std::string &name) const;

    QTemporaryDir m_dir;
    std::unique_ptr<ControlPlane> m_plane;
    std::optional<ControlPlaneEndpoint> m_endpoint;
    std::unique_ptr<Api> m_api;
};

std::int64_t TestControlPlane::pidOf(const std::string &name) const
{
    for (const ProcessState &process : m_plane->state().processes) {
        if (process.name == name)
            return process.pid;
    }
    return 0;
}

void TestControlPlane::nothingAcknowledgedIsLostWhenAllIsKilledAtOnce()
{
    const QTemporaryDir dir;
    auto options = optionsFor(dir, "killed");
    options.controllers = false;
    std::array<int, 2> ends{};
    QCOMPARE(::pipe(ends.data()), 0);
    const pid_t owner = ::fork();
    if (owner == 0)
        runAndTell(options, ends[1]);
    ::close(ends[1]);
    std::string text;
    std::array<char, 1024> part{};
    for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;)
        text.append(part.data(), static_cast<std::size_t>(got));
    ::close(ends[0]);
    ::kill(owner, SIGKILL);
    ::waitpid(owner, nullptr, 0);
    const json told = json::parse(text);
    QVERIFY2(told["ok"].get<bool>() && told["written"].get<bool>(), text.c_str());
    QCOMPARE(told["pids"].size(), std::size_t{2});
    for (const json &pid : told["pids"])
        QTRY_VERIFY_WITH_TIMEOUT(!isAlive(pid.get<std::int64_t>()), patience);

    ControlPlane again(options);
    const auto endpoint = again.start();
    QVERIFY2(endpoint, endpoint ? "" : endpoint.error().message.c_str());
    QVERIFY(Api(*endpoint).hasConfigMap("acknowledged"));
}

void TestControlPlane::theControllersAndRaysKindsAreThere()
{
    std::vector<std::string> stages;
    m_plane = std::make_unique<ControlPlane>(optionsFor(m_dir, "main"));
    const auto endpoint = m_plane->start([&](const std::string &stage) { stages.push_back(stage); });
    QVERIFY2(endpoint, endpoint ? "" : endpoint.error().message.c_str());
    m_endpoint = *endpoint;
    m_api = std::make_unique<Api>(*endpoint);
    QVERIFY(stages.size() >= 3);
    QCOMPARE(m_plane->state().stage, ControlPlaneState::Stage::Running);
    QCOMPARE(m_plane->state().processes.size(), std::size_t{5});
    for (const char *kind : rayKinds) // at once: what start() promises
        QCOMPARE(m_api->status("GET", std::string("/apis/ray.io/v1/") + kind), 200);
    QVERIFY(m_api->makeNamespace("work"));
    QTRY_VERIFY_WITH_TIMEOUT(m_api->has("/api/v1/namespaces/work/serviceaccounts/default"), patience);
}

void TestControlPlane::onlyTheApiServerListensAndOnlyOnLoopback()
{
    QVERIFY(m_plane && m_endpoint);
    for (const ProcessState &process : m_plane->state().processes) {
        const auto sockets = listeningSockets(process.pid);
        if (process.name == "kube-apiserver")
            QCOMPARE(sockets, QStringList{"127.0.0.1:" + QString::number(m_endpoint->port)});
        else
            QVERIFY2(sockets.isEmpty(), qPrintable(sockets.join(' ')));
    }
}

void TestControlPlane::aSecondOneInTheSameFolderIsRefused()
{
    QVERIFY(m_plane);
    ControlPlane second(optionsFor(m_dir, "main"));
    const auto refused = second.start();
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, ErrorCode::FailedPrecondition);
    QVERIFY(m_api->has("/readyz"));
}

void TestControlPlane::eachKilledProcessComesBack_data()
{
    QTest::addColumn<QString>("name");
    for (const std::string &name : controlPlaneProgramNames(true, true))
        QTest::newRow(name.c_str()) << QString::fromStdString(name);
}

void TestControlPlane::eachKilledProcessComesBack()
{
    QFETCH(const QString, name);
    QVERIFY(m_plane && m_api);
    const std::string process = name.toStdString();
    QTRY_VERIFY_WITH_TIMEOUT(m_api->makeConfigMap("before-" + process), patience);
    const auto pid = pidOf(process);
    QVERIFY(pid > 0);
    ::kill(static_cast<pid_t>(pid), SIGKILL);
    QTRY_VERIFY_WITH_TIMEOUT(pidOf(process) > 0 && pidOf(process) != pid, patience);
    QTRY_VERIFY_WITH_TIMEOUT(m_api->hasConfigMap("before-" + process), patience);
    QTRY_VERIFY_WITH_TIMEOUT(m_api->makeNamespace("after-" + process), patience);
    QTRY_VERIFY_WITH_TIMEOUT(m_api->has("/api/v1/namespaces/after-" + process + "/serviceaccounts/default"),
                             patience);
}

void TestControlPlane::allKilledComeBack()
{
    QVERIFY(m_plane && m_api);
    QTRY_VERIFY_WITH_TIMEOUT(m_api->makeConfigMap("before-all"), patience);
    for (const ProcessState &process : m_plane->state().processes) {
        if (process.pid > 0)
            ::kill(static_cast<pid_t>(process.pid), SIGKILL);
    }
    QTRY_VERIFY_WITH_TIMEOUT(m_api->hasConfigMap("before-all"), patience);
    QTRY_VERIFY_WITH_TIMEOUT(m_api->makeNamespace("after-all"), patience);
    QTRY_VERIFY_WITH_TIMEOUT(m_api->has("/api/v1/namespaces/after-all/serviceaccounts/default"), patience);
}

void TestControlPlane::stoppingLeavesNoProcessAndTheNextStartHasAll()
{
    QVERIFY(m_plane && m_endpoint);
    const auto processes = m_plane->state().processes;
    m_plane->stop();
    QCOMPARE(m_plane->state().stage, ControlPlaneState::Stage::Stopped);
    for (const ProcessState &process : processes)
        QVERIFY2(!isAlive(process.pid), process.name.c_str());

    const auto endpoint = m_plane->start();
    QVERIFY2(endpoint, endpoint ? "" : endpoint.error().message.c_str());
    QCOMPARE(endpoint->port, m_endpoint->port);
    QCOMPARE(endpoint->adminToken, m_endpoint->adminToken);
    for (const char *kind : rayKinds)
        QCOMPARE(m_api->status("GET", std::string("/apis/ray.io/v1/") + kind), 200);
    QVERIFY(m_api->hasConfigMap("before-all"));
    m_plane->stop();
}

int main(int argc, char **argv)
{
    if (!programs()) {
        std::puts("skipped: the control plane is not built (./dev setup)");
        return 77;
    }
    // On a busy machine one start may take minutes; the limit that counts is that of the whole test.
    qputenv("QTEST_FUNCTION_TIMEOUT", "1200000");
    QCoreApplication application(argc, argv);
    TestControlPlane test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_control_plane.moc"
