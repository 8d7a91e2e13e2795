#include "ray_stand.h"

#include <QTest>
#include <boost/asio/post.hpp>
#include <future>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

RayTimings RayStand::shortTimings()
{
    RayTimings timings;
    timings.controlLoop = std::chrono::milliseconds(20);
    timings.build = std::chrono::milliseconds(100);
    timings.beat = std::chrono::milliseconds(50);
    timings.lostReplica = std::chrono::milliseconds(400);
    timings.lostNode = std::chrono::milliseconds(1500);
    timings.reconnect = std::chrono::milliseconds(1000);
    timings.stopping = std::chrono::milliseconds(100);
    timings.draining = std::chrono::milliseconds(1000);
    return timings;
}

RayStand::RayStand(bool allowsJobs)
{
    RayStartOptions options;
    options.isHead = true;
    options.headPort = options.dashboardPort = 0;
    options.node.ip = options.node.name = "127.0.0.1";
    options.node.hostName = "vm";
    options.node.agentPort = options.node.metricsPort = 0;
    options.node.resources = {{"CPU", 4},
                              {"memory", 1e9},
                              {"object_store_memory", 1e8},
                              {"node:127.0.0.1", 1},
                              {"node:__internal_head__", 1}};
    options.allowsJobs = allowsJobs;
    options.variable = [](const std::string &) { return std::string(); };
    options.timings = shortTimings();
    m_head = std::make_unique<RayHead>(m_io, options);
    const Status started = m_head->start();
    if (!started)
        qFatal("%s", started.error().message.c_str());
    m_thread = std::thread([this] { m_io.run(); });
}

RayStand::~RayStand()
{
    onIo([this] {
        m_workers.clear();
        m_head.reset();
    });
    m_work.reset();
    m_io.stop();
    m_thread.join();
}

void RayStand::onIo(const std::function<void()> &fn)
{
    std::promise<void> done;
    boost::asio::post(m_io, [&] {
        fn();
        done.set_value();
    });
    done.get_future().wait();
}

RayHeadPorts RayStand::ports()
{
    RayHeadPorts ports;
    onIo([&] { ports = m_head->ports(); });
    return ports;
}

void RayStand::addWorker(int n)
{
    const std::string ip = "127.0.0." + std::to_string(n);
    onIo([&] {
        RayStartOptions options;
        options.headHost = "127.0.0.1";
        options.headPort = m_head->ports().join;
        options.node.ip = ip;
        options.node.name = "worker-" + std::to_string(n);
        options.node.hostName = "vm";
        options.node.agentPort = options.node.metricsPort = 0;
        options.node.resources = {{"CPU", 4}, {"TPU", 4}, {"memory", 1e9}, {"node:" + ip, 1}};
        options.variable = [](const std::string &) { return std::string(); };
        options.timings = shortTimings();
        m_workers.push_back(std::make_unique<RayWorker>(m_io, options, [](const std::string &) {}));
        if (const Status started = m_workers.back()->start(); !started)
            qFatal("%s", started.error().message.c_str());
    });
    const bool hasJoined = QTest::qWaitFor(
        [&] {
            bool isJoined = false;
            onIo([&] { isJoined = m_workers.back()->isJoined(); });
            return isJoined;
        },
        20000);
    if (!hasJoined)
        qFatal("the worker has not joined");
}

void RayStand::killWorker(std::size_t index)
{
    onIo([&] { m_workers[index].reset(); });
}

void RayStand::stopWorker(std::size_t index)
{
    onIo([&] { m_workers[index]->leave([] {}); });
}

HttpResponse RayStand::ask(const std::string &method, int port, const std::string &target,
                           const std::string &body, const std::string &contentType, const std::string &host)
{
    HttpRequest request{method, "http://" + host + ":" + std::to_string(port) + target, {}, body};
    if (!contentType.empty())
        request.headers.push_back({"Content-Type", contentType});
    const auto response = m_client.send(request);
    return response ? *response : HttpResponse{0, {}, response.error().message, {}};
}

HttpResponse RayStand::replay(const Recording &one)
{
    const RayHeadPorts all = ports();
    const int port = one.port == 52365 ? all.agent : one.port == 8000 ? all.proxy : all.dashboard;
    return ask(one.method, port, one.target, one.body, one.contentType);
}

json RayStand::getJson(const std::string &target)
{
    return json::parse(ask("GET", ports().dashboard, target).body, nullptr, false);
}

json RayStand::serveDetails()
{
    return getJson("/api/serve/applications/?api_type=declarative");
}

void RayStand::putServe(const json &config)
{
    const HttpResponse answer
        = ask("PUT", ports().dashboard, "/api/serve/applications/", config.dump(), "application/json");
    if (answer.status != 200)
        qFatal("PUT: %d %s", answer.status, answer.body.c_str());
}

std::string RayStand::appStatus(const std::string &app)
{
    const json apps = serveDetails()["applications"];
    return apps.contains(app) ? apps[app]["status"].get<std::string>() : std::string();
}
