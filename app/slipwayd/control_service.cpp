#include "app/slipwayd/control_service.h"

#include <boost/asio/post.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <openssl/crypto.h>
#include <unistd.h>

namespace slipwayd {

using cluster::ServerExchange;
using cluster::ServerRequest;
using cluster::ServerResponse;
using nlohmann::json;

namespace {

ServerResponse jsonResponse(int status, const json &body)
{
    return {status,
            {{"Content-Type", "application/json"}},
            body.dump(2, ' ', false, json::error_handler_t::replace) + "\n"};
}

ServerResponse errorResponse(int status, const std::string &message)
{
    return jsonResponse(status, {{"error", {{"code", status}, {"message", message}}}});
}

bool isAuthorized(const ServerRequest &request, const std::string &token)
{
    const std::string wanted = "Bearer " + token;
    const auto given = request.header("Authorization");
    return given && given->size() == wanted.size()
        && ::CRYPTO_memcmp(given->data(), wanted.data(), wanted.size()) == 0;
}

std::uint64_t ownResidentBytes()
{
    std::uint64_t total = 0;
    std::uint64_t resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

json toJson(const cluster::local::ProcessState &process)
{
    return {{"name", process.name},
            {"pid", process.pid},
            {"state", process.pid > 0 ? "running" : "waiting"},
            {"restarts", process.restarts},
            {"lastExit", process.lastExit},
            {"memoryBytes", process.residentBytes},
            {"logFile", process.logFile.string()}};
}

json toJson(const cluster::local::LocalClusterState &state)
{
    json processes = json::array();
    std::uint64_t memory = 0;
    for (const cluster::local::ProcessState &process : state.processes) {
        memory += process.residentBytes;
        processes.push_back(toJson(process));
    }
    return {{"id", state.spec.id},      {"project", state.spec.project}, {"location", state.spec.location},
            {"name", state.spec.name},  {"version", state.spec.version}, {"state", state.state},
            {"message", state.message}, {"endpoint", state.endpoint},    {"nodes", state.nodes},
            {"pods", state.pods},       {"memoryBytes", memory},         {"processes", processes}};
}

} // namespace

ControlService::ControlService(Facts facts, const cluster::local::LocalClusters &clusters,
                               const cluster::local::ManagedPrometheus &metrics)
    : m_facts(std::move(facts)), m_clusters(clusters), m_metrics(metrics)
{
}

ControlService::~ControlService()
{
    m_threads.join();
}

bool ControlService::takes(const ServerRequest &request) const
{
    return request.path == "/slipway/v1/status" || request.path == "/slipway/v1/stop";
}

void ControlService::handle(const std::shared_ptr<ServerExchange> &exchange)
{
    const ServerRequest &request = exchange->request();
    if (!isAuthorized(request, m_facts.token))
        return exchange->reply(errorResponse(401, "the token is not the one of this local target"));
    if (request.path == "/slipway/v1/status" && request.method == "GET") {
        boost::asio::post(m_threads, [this, exchange] { answerStatus(exchange); });
        return;
    }
    if (request.path == "/slipway/v1/stop" && request.method == "POST") {
        exchange->reply(jsonResponse(200, {{"stopping", true}}));
        m_facts.stop();
        return;
    }
    exchange->reply(errorResponse(405, request.method + " is not done here"));
}

void ControlService::answerStatus(const std::shared_ptr<ServerExchange> &exchange) const
{
    json clusters = json::array();
    for (const cluster::local::LocalClusterState &state : m_clusters.states())
        clusters.push_back(toJson(state));
    json metrics = json::array();
    for (const cluster::local::ProcessState &process : m_metrics.processes())
        metrics.push_back(toJson(process));
    exchange->reply(jsonResponse(200,
                                 {{"version", SLIPWAY_VERSION},
                                  {"pid", ::getpid()},
                                  {"missing", m_facts.missing()},
                                  {"settings",
                                   {{"speed", m_facts.settings.speed},
                                    {"allowProcesses", m_facts.settings.allowsProcesses},
                                    {"stopIdleSeconds", m_facts.settings.stopIdle.count()}}},
                                  {"memoryBytes", ownResidentBytes()},
                                  {"clusters", clusters},
                                  {"metrics", metrics}}));
}

} // namespace slipwayd
