#pragma once

#include "engine/supervisor/in_flight.h"
#include "engine/supervisor/runner_backend.h"
#include "engine/supervisor/runner_process.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <set>

namespace engine {

/// The life of the runner behind a RunnerBackend: started, watched, started again, ended.
struct RunnerBackend::State : std::enable_shared_from_this<RunnerBackend::State>
{
    State(boost::asio::io_context &theContext, SupervisorOptions theOptions)
        : context(theContext), options(std::move(theOptions)), backoffTimer(context), watchTimer(context),
          stopTimer(context)
    {
        options.program.environment.emplace_back("OMP_WAIT_POLICY=passive");
        options.program.environment.emplace_back("GGML_NO_BACKTRACE=1");
    }

    boost::asio::io_context &context;
    SupervisorOptions options;
    boost::asio::steady_timer backoffTimer;
    boost::asio::steady_timer watchTimer;
    boost::asio::steady_timer stopTimer;

    std::unique_ptr<RunnerProcess> process;
    InFlight inFlight;
    std::set<RequestId> embeddings; ///< Those in flight, which are calls.
    BackendState state = BackendState::Loading;
    std::string message = "the model is being loaded";
    cluster::ErrorCode failureCode = cluster::ErrorCode::Unknown;
    ModelFacts facts;
    RunnerStats stats;
    std::optional<cluster::Error> fatal; ///< What the runner said before it went.
    bool everReady = false;
    bool stopping = false;
    int deathsInARow = 0;
    int starts = 0;
    std::chrono::steady_clock::time_point heard; ///< Last sign of life that counts for the deadline in force.
    std::chrono::steady_clock::time_point readySince;

    std::function<void(BackendState)> stateHandler;
    std::function<void(double)> progressHandler;
    std::function<void(const RunnerStats &)> statsHandler;
    std::function<void()> stopped;

    void log(const std::string &line) const;
    void enter(BackendState next, std::string why);
    void launch();
    void spawn(const RunnerOptions &runner);
    void handle(RunnerMessage &&message);
    void ready(ModelFacts &&newFacts);
    void takeStats(RunnerStats &&newStats);
    void ended(const std::string &how, bool clean);
    void died(cluster::ErrorCode code, const std::string &how);
    void finishStop();
    void watch();
    void checkDeadline();
    void begin();
    [[nodiscard]] std::string unavailableMessage() const;
    void call(Call::Request request, InFlight::CallHandler handler);
};

} // namespace engine
