#include "server_process.h"

#include "engine/commandline/flag_values.h"
#include "engine/group/worker_group.h"
#include "engine/metrics/server_metrics.h"
#include "engine/serving/http_frontend.h"
#include "engine/supervisor/runner_backend.h"
#include "exit_codes.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <cmath>
#include <csignal>
#include <optional>
#include <spdlog/spdlog.h>

using namespace engine;
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

std::string thousands(std::int64_t number)
{
    std::string text = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
        text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

/// Can the address be had? Asked before the model is loaded, which may take minutes; the port is opened
/// afterwards.
std::string addressProblem(asio::io_context &context, const ServerOptions &options)
{
    const std::string where
        = (options.host.empty() ? "*" : options.host) + ":" + std::to_string(options.port);
    error_code error;
    asio::ip::tcp::resolver resolver(context);
    const auto host = options.host.empty() ? std::string("0.0.0.0") : options.host;
    const auto found = resolver.resolve(host, std::to_string(options.port), error);
    if (error || found.empty())
        return "cannot listen on " + where + ": the host has no address";
    const auto endpoint = found.begin()->endpoint();
    asio::ip::tcp::acceptor acceptor(context);
    acceptor.open(endpoint.protocol(), error);
    if (!error)
        acceptor.set_option(asio::ip::tcp::acceptor::reuse_address(true), error);
    if (!error)
        acceptor.bind(endpoint, error);
    if (!error)
        acceptor.listen(1, error); // binding alone succeeds beside another socket that is bound likewise
    if (!error)
        return {};
    if (error == asio::error::address_in_use)
        return "cannot listen on " + where + ": the port is in use; choose another one with --port";
    if (error == asio::error::access_denied)
        return "cannot listen on " + where + ": permission denied; ports below 1024 need root";
    return "cannot listen on " + where + ": " + error.message() + "; is the address one of this host?";
}

} // namespace

struct ServerProcess::State
{
    State(ServeOptions theOptions, const std::string &build)
        : options(std::move(theOptions)), signals(context, SIGINT, SIGTERM)
    {
        if (!options.workers.empty()) {
            WorkerGroupOptions groupOptions;
            groupOptions.workers = options.workers;
            groupOptions.token = options.workerToken;
            groupOptions.build = build;
            groupOptions.formDeadline = options.workerTimeout;
            group.emplace(context, std::move(groupOptions));
        }
        backend.emplace(context, supervisorOptions());
        if (group)
            group->onLost([this](const std::string &reason) { backend->loseRunner(reason); });
    }

    ServeOptions options;
    asio::io_context context;
    asio::signal_set signals;
    std::optional<WorkerGroup> group;
    std::optional<RunnerBackend> backend;
    std::optional<ServerMetrics> metrics;
    std::optional<HttpFrontend> frontend;
    Outcome outcome;
    int lastPercent = -25;
    bool stopping = false;

    [[nodiscard]] SupervisorOptions supervisorOptions();
    void awaitSignal();
    void stateChanged(BackendState state);
    void progress(double fraction);
    void open();
    void stop();
};

SupervisorOptions ServerProcess::State::supervisorOptions()
{
    SupervisorOptions supervisor;
    supervisor.program = ownProgram({"runner"});
    supervisor.runner = options.runner;
    supervisor.stepDeadline = options.stepDeadline;
    if (group) {
        supervisor.surroundings = &*group;
        supervisor.maxLoadDeaths = 1; // who starts the group starts it again as a whole
    }
    supervisor.log = [](std::string_view line) { spdlog::info("(runner) {}", line); };
    return supervisor;
}

void ServerProcess::State::awaitSignal()
{
    signals.async_wait([this](const error_code &error, int number) {
        if (error)
            return;
        if (stopping) { // asked twice: at once
            spdlog::warn("asked to stop again: stopping at once");
            context.stop();
            return;
        }
        spdlog::info("got signal {}: shutting down", number);
        stop();
        awaitSignal();
    });
}

void ServerProcess::State::stop()
{
    stopping = true;
    const auto endRunner = [this] {
        backend->stop([this] {
            signals.cancel();
            context.stop();
        });
    };
    if (frontend)
        frontend->stop(endRunner);
    else
        endRunner();
}

void ServerProcess::State::progress(double fraction)
{
    const int percent = static_cast<int>(fraction * 100);
    if (percent / 25 == lastPercent / 25 && percent >= lastPercent)
        return;
    lastPercent = percent;
    spdlog::info("loading the model: {} %", percent);
}

void ServerProcess::State::stateChanged(BackendState state)
{
    if (state == BackendState::Ready && !frontend) {
        open();
    } else if (state == BackendState::Ready) {
        spdlog::info("the runner is ready again");
    } else if (state == BackendState::Restarting) {
        spdlog::error("{}", backend->stateMessage());
    } else if (state == BackendState::Failed && !stopping) {
        outcome = {exitCodeOf(backend->failureCode(), group.has_value()), backend->stateMessage()};
        stop();
    }
}

/// The first time the runner is ready: its facts are known, so the metrics and routes can be made.
void ServerProcess::State::open()
{
    const ModelFacts &facts = backend->facts();
    spdlog::info("{} KV cache size: {} tokens", facts.device.empty() ? "CPU" : facts.device,
                 thousands(facts.kvCacheTokens));
    if (facts.maxModelLen > 0) {
        const double concurrency = static_cast<double>(facts.kvCacheTokens) / facts.maxModelLen;
        spdlog::info("Maximum concurrency for {} tokens per request: {:.2f}x", thousands(facts.maxModelLen),
                     concurrency);
    }
    ServerMetricsOptions metricsOptions;
    metricsOptions.modelName = options.server.servedModelNames.front();
    metricsOptions.dialect = options.server.dialect;
    metricsOptions.maxModelLen = facts.maxModelLen;
    metricsOptions.kvCacheTokens = facts.kvCacheTokens;
    metricsOptions.prefixCaching = options.runner.prefixCaching;
    metrics.emplace(std::move(metricsOptions));
    frontend.emplace(context, options.server, *backend, *metrics);
    if (const auto listening = frontend->listen(); !listening) {
        outcome = {exitAddress, listening.error().message};
        frontend.reset();
        stop();
        return;
    }
    const std::string host = options.server.host.empty() ? "0.0.0.0" : options.server.host;
    spdlog::info("Application startup complete.");
    spdlog::info("Listening on http://{}:{} (Press CTRL+C to quit)",
                 host.find(':') == std::string::npos ? host : "[" + host + "]", frontend->port());
}

ServerProcess::ServerProcess(ServeOptions options, std::string build)
    : m_state(std::make_unique<State>(std::move(options), build))
{
}

ServerProcess::~ServerProcess() = default;

ServerProcess::Outcome ServerProcess::run()
{
    auto &state = *m_state;
    if (auto problem = addressProblem(state.context, state.options.server); !problem.empty())
        return {exitAddress, std::move(problem)};
    state.awaitSignal();
    state.backend->onState([&state](BackendState next) { state.stateChanged(next); });
    state.backend->onProgress([&state](double fraction) { state.progress(fraction); });
    state.backend->start();
    state.context.run();
    if (state.outcome.message.empty())
        spdlog::info("stopped");
    return state.outcome;
}
