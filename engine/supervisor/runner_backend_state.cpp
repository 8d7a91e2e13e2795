#include "engine/supervisor/runner_backend_state.h"

#include <algorithm>
#include <boost/asio/post.hpp>

namespace engine {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using boost::system::error_code;
using cluster::ErrorCode;

namespace {

bool restartMayHelp(ErrorCode code)
{
    return code == ErrorCode::Unavailable || code == ErrorCode::DeadlineExceeded
        || code == ErrorCode::Internal || code == ErrorCode::Unknown;
}

std::string inSeconds(std::chrono::milliseconds time)
{
    const auto text = std::to_string(static_cast<double>(time.count()) / 1000.0);
    return text.substr(0, text.find('.') + 2) + " s";
}

} // namespace

void RunnerBackend::State::log(const std::string &line) const
{
    if (options.log)
        options.log(line);
}

void RunnerBackend::State::enter(BackendState next, std::string why)
{
    message = std::move(why);
    if (state == next)
        return;
    state = next;
    if (stateHandler)
        stateHandler(next);
}

void RunnerBackend::State::launch()
{
    heard = Clock::now();
    fatal.reset();
    if (options.surroundings == nullptr) {
        spawn(options.runner);
        return;
    }
    options.surroundings->prepare(options.runner,
                                  [weak = weak_from_this()](const cluster::Result<RunnerOptions> &prepared) {
                                      const auto self = weak.lock();
                                      if (!self)
                                          return;
                                      if (self->stopping) {
                                          self->finishStop();
                                      } else if (!prepared) {
                                          self->died(prepared.error().code, prepared.error().message);
                                      } else {
                                          self->spawn(*prepared);
                                      }
                                  });
}

void RunnerBackend::State::spawn(const RunnerOptions &runner)
{
    RunnerProcess::Handlers handlers;
    // The process is ours and calls nothing after its destruction: `this` lives longer than its handlers.
    handlers.message = [this](RunnerMessage &&received) { handle(std::move(received)); };
    handlers.logLine = [this](std::string_view line) { log(std::string(line)); };
    handlers.ended = [this](const std::string &how, bool clean) { ended(how, clean); };
    auto started = RunnerProcess::start(context, options.program, std::move(handlers));
    if (!started) {
        died(started.error().code, started.error().message);
        return;
    }
    ++starts;
    process = std::move(*started);
    heard = Clock::now();
    if (const auto sent = process->send(FrontMessage(runner)); !sent)
        process->kill(sent.error().message);
}

void RunnerBackend::State::handle(RunnerMessage &&received)
{
    const auto visitor = [this](auto &&value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, RunnerStats>) {
            takeStats(std::forward<decltype(value)>(value));
            return;
        }
        heard = Clock::now();
        if constexpr (std::is_same_v<Value, LoadProgress>) {
            if (progressHandler)
                progressHandler(value.fraction);
        } else if constexpr (std::is_same_v<Value, ModelFacts>) {
            ready(std::forward<decltype(value)>(value));
        } else if constexpr (std::is_same_v<Value, Fatal>) {
            fatal = value.error;
        } else if constexpr (!std::is_same_v<Value, RunnerStats>) {
            inFlight.deliver(std::forward<decltype(value)>(value));
        }
    };
    std::visit(visitor, std::move(received));
}

void RunnerBackend::State::ready(ModelFacts &&newFacts)
{
    facts = std::move(newFacts);
    everReady = true;
    readySince = Clock::now();
    if (!stopping)
        enter(BackendState::Ready, "ready");
}

void RunnerBackend::State::takeStats(RunnerStats &&newStats)
{
    if (!newStats.stepTokens.empty() || state != BackendState::Ready)
        heard = Clock::now(); // an idle or stuck runner may still tell its counters: only steps count
    if (statsHandler)
        statsHandler(newStats);
    stats = std::move(newStats);
    stats.stepTokens.clear();
}

void RunnerBackend::State::ended(const std::string &how, bool clean)
{
    process.reset();
    if (stopping) {
        finishStop();
        return;
    }
    if (fatal)
        died(fatal->code, fatal->message);
    else
        died(ErrorCode::Unavailable, clean ? "it ended although nobody asked it to" : how);
}

void RunnerBackend::State::died(ErrorCode code, const std::string &how)
{
    const bool wasReady = state == BackendState::Ready;
    if (wasReady && Clock::now() - readySince >= options.longLife)
        deathsInARow = 0;
    ++deathsInARow;
    if (options.surroundings != nullptr)
        options.surroundings->release();

    const std::string what = std::string("the engine's runner process ")
        + (wasReady ? "was lost (" : "could not get ready (") + how + ")";
    stats = {};
    const bool hopeless = !restartMayHelp(code) || (!everReady && deathsInARow >= options.maxLoadDeaths);
    if (hopeless) {
        failureCode = code;
        log(what + "; giving up");
        enter(BackendState::Failed, what);
    } else {
        const auto factor = 1U << static_cast<unsigned>(std::min(deathsInARow - 1, 16));
        const auto delay = std::min(options.maxBackoff, options.firstBackoff * factor);
        log(what + "; starting it again in " + inSeconds(delay));
        enter(everReady ? BackendState::Restarting : BackendState::Loading,
              what + "; it is being started again");
        backoffTimer.expires_after(delay);
        backoffTimer.async_wait([weak = weak_from_this()](const error_code &error) {
            const auto self = weak.lock();
            if (!error && self && !self->stopping)
                self->launch();
        });
    }
    // After the new state is in force, so that a handler that looks or asks again sees it.
    inFlight.failAll(what + "; the request was not finished");
    if (statsHandler)
        statsHandler(stats);
}

void RunnerBackend::State::finishStop()
{
    stopTimer.cancel();
    watchTimer.cancel();
    if (options.surroundings != nullptr)
        options.surroundings->release();
    enter(BackendState::Stopped, "the engine was stopped");
    if (const auto done = std::exchange(stopped, nullptr))
        done();
}

void RunnerBackend::State::watch()
{
    using std::chrono::milliseconds;
    const auto period = std::clamp(std::min(options.stepDeadline, options.loadDeadline) / 4, milliseconds(10),
                                   milliseconds(1'000));
    watchTimer.expires_after(period);
    watchTimer.async_wait([weak = weak_from_this()](const error_code &error) {
        const auto self = weak.lock();
        if (error || !self)
            return;
        self->checkDeadline();
        self->watch();
    });
}

void RunnerBackend::State::checkDeadline()
{
    if (!process)
        return;
    const auto silent = Clock::now() - heard;
    if (state == BackendState::Ready) {
        if (inFlight.count() > 0 && silent >= options.stepDeadline)
            process->kill("it hung: no step for " + inSeconds(options.stepDeadline) + " while "
                          + std::to_string(inFlight.count()) + " requests were running");
    } else if (silent >= options.loadDeadline) {
        process->kill("it hung: silent for " + inSeconds(options.loadDeadline) + " while loading the model");
    }
}

/// Work starts after a pause: the deadline counts from now.
void RunnerBackend::State::begin()
{
    if (inFlight.count() == 0)
        heard = Clock::now();
}

std::string RunnerBackend::State::unavailableMessage() const
{
    return state == BackendState::Loading ? "the model is still being loaded; try again later" : message;
}

void RunnerBackend::State::call(Call::Request request, InFlight::CallHandler handler)
{
    auto answer = [this, &handler](ErrorCode code, std::string why) {
        asio::post(context, [handler = std::move(handler), code, why = std::move(why)] {
            handler(cluster::fail(code, why));
        });
    };
    if (state != BackendState::Ready || !process || stopping) {
        answer(ErrorCode::Unavailable, unavailableMessage());
        return;
    }
    begin();
    const CallId number = inFlight.addCall(handler);
    if (const auto sent = process->send(Call{number, std::move(request)}); !sent) {
        inFlight.dropCall(number);
        answer(ErrorCode::InvalidArgument, sent.error().message);
    }
}

} // namespace engine
