#include "engine/supervisor/runner_backend.h"

#include "engine/supervisor/in_flight.h"
#include "engine/supervisor/runner_process.h"
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <set>

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

struct RunnerBackend::State : std::enable_shared_from_this<RunnerBackend::State>
{
    State(asio::io_context &theContext, SupervisorOptions theOptions)
        : context(theContext), options(std::move(theOptions)), backoffTimer(context), watchTimer(context),
          stopTimer(context)
    {
        options.program.environment.emplace_back("OMP_WAIT_POLICY=passive");
        options.program.environment.emplace_back("GGML_NO_BACKTRACE=1");
    }

    asio::io_context &context;
    SupervisorOptions options;
    asio::steady_timer backoffTimer;
    asio::steady_timer watchTimer;
    asio::steady_timer stopTimer;

    std::unique_ptr<RunnerProcess> process;
    InFlight inFlight;
    std::set<RequestId> embeddings; ///< Those in flight, which are calls.
    BackendState state = BackendState::Loading;
    std::string message = "the model is being loaded";
    ErrorCode failureCode = ErrorCode::Unknown;
    ModelFacts facts;
    RunnerStats stats;
    std::optional<cluster::Error> fatal; ///< What the runner said before it went.
    bool everReady = false;
    bool stopping = false;
    int deathsInARow = 0;
    int starts = 0;
    Clock::time_point heard; ///< Last sign of life that counts for the deadline in force.
    Clock::time_point readySince;

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
    void died(ErrorCode code, const std::string &how);
    void finishStop();
    void watch();
    void checkDeadline();
    void begin();
    [[nodiscard]] std::string unavailableMessage() const;
    void call(Call::Request request, InFlight::CallHandler handler);
};

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

namespace {

/// A reply of the kind that was asked for, or an error.
template<typename T>
InFlight::CallHandler expecting(Backend::Reply<T> reply)
{
    return [reply = std::move(reply)](cluster::Result<decltype(CallReply::value)> value) {
        if (!value)
            reply(tl::unexpected(value.error()));
        else if (auto *wanted = std::get_if<T>(&*value))
            reply(std::move(*wanted));
        else
            reply(cluster::fail(ErrorCode::Internal, "the runner answered with another kind of value"));
    };
}

} // namespace

RunnerBackend::RunnerBackend(asio::io_context &context, SupervisorOptions options)
    : m_state(std::make_shared<State>(context, std::move(options)))
{
}

RunnerBackend::~RunnerBackend()
{
    m_state->process.reset();
    m_state->backoffTimer.cancel();
    m_state->watchTimer.cancel();
    m_state->stopTimer.cancel();
}

void RunnerBackend::onState(std::function<void(BackendState)> handler)
{
    m_state->stateHandler = std::move(handler);
}

void RunnerBackend::onProgress(std::function<void(double)> handler)
{
    m_state->progressHandler = std::move(handler);
}

void RunnerBackend::start()
{
    asio::post(m_state->context, [weak = m_state->weak_from_this()] {
        if (const auto self = weak.lock(); self && !self->stopping)
            self->launch();
    });
    m_state->watch();
}

void RunnerBackend::stop(std::function<void()> done)
{
    auto &state = *m_state;
    state.stopping = true;
    state.stopped = std::move(done);
    state.backoffTimer.cancel();
    asio::post(state.context, [weak = state.weak_from_this()] {
        const auto self = weak.lock();
        if (!self)
            return;
        self->inFlight.failAll("the engine is being stopped; the request was not finished");
        if (!self->process) {
            self->finishStop();
            return;
        }
        [[maybe_unused]] const auto sent
            = self->process->send(Shutdown{}); // fits a frame; a lost one is killed below
        self->stopTimer.expires_after(self->options.stopDeadline);
        self->stopTimer.async_wait([weak](const error_code &error) {
            const auto late = weak.lock();
            if (!error && late && late->process)
                late->process->kill("it did not stop when asked to");
        });
    });
}

void RunnerBackend::loseRunner(const std::string &reason)
{
    if (m_state->process)
        m_state->process->kill(reason);
}

int RunnerBackend::runnerPid() const
{
    return m_state->process ? m_state->process->pid() : -1;
}

int RunnerBackend::restartCount() const
{
    return std::max(0, m_state->starts - 1);
}

BackendState RunnerBackend::state() const
{
    return m_state->state;
}

std::string RunnerBackend::stateMessage() const
{
    return m_state->message;
}

ErrorCode RunnerBackend::failureCode() const
{
    return m_state->failureCode;
}

const ModelFacts &RunnerBackend::facts() const
{
    return m_state->facts;
}

RunnerStats RunnerBackend::stats() const
{
    return m_state->stats;
}

void RunnerBackend::generate(GenerateRequest request, GenerationHandler handler)
{
    auto &state = *m_state;
    const RequestId id = request.id;
    const auto refuse = [&state, id, &handler](std::string code, std::string why) {
        asio::post(state.context,
                   [handler = std::move(handler), id, code = std::move(code), why = std::move(why)] {
                       handler(RequestFailure{id, code, why});
                   });
    };
    if (state.state != BackendState::Ready || !state.process || state.stopping) {
        refuse("unavailable", state.unavailableMessage());
        return;
    }
    state.begin();
    if (const auto sent = state.process->send(FrontMessage(std::move(request))); !sent) {
        refuse("invalid_argument", sent.error().message);
        return;
    }
    state.inFlight.addRequest(id, std::move(handler));
}

void RunnerBackend::cancel(RequestId id)
{
    if (!m_state->inFlight.hasRequest(id) && !m_state->embeddings.contains(id))
        return;
    m_state->inFlight.dropRequest(id);
    if (m_state->process) [[maybe_unused]]
        const auto sent = m_state->process->send(CancelRequest{id}); // always fits a frame
}

void RunnerBackend::renderChat(ChatPromptRequest request, Reply<Prompt> reply)
{
    m_state->call(std::move(request), expecting<Prompt>(std::move(reply)));
}

void RunnerBackend::tokenize(TextPromptRequest request, Reply<Prompt> reply)
{
    m_state->call(std::move(request), expecting<Prompt>(std::move(reply)));
}

void RunnerBackend::detokenize(std::vector<TokenId> tokens, Reply<std::string> reply)
{
    m_state->call(DetokenizeRequest{std::move(tokens)}, expecting<std::string>(std::move(reply)));
}

void RunnerBackend::compileGrammar(GrammarRequest request, Reply<std::string> reply)
{
    m_state->call(std::move(request), expecting<std::string>(std::move(reply)));
}

void RunnerBackend::embed(EmbeddingRequest request, Reply<std::vector<float>> reply)
{
    const RequestId id = request.id;
    m_state->embeddings.insert(id);
    m_state->call(
        std::move(request),
        expecting<std::vector<float>>([state = m_state.get(), id, reply = std::move(reply)](auto values) {
            state->embeddings.erase(id); // the state outlives what is in flight
            reply(std::move(values));
        }));
}

void RunnerBackend::onStats(std::function<void(const RunnerStats &)> handler)
{
    m_state->statsHandler = std::move(handler);
}

} // namespace engine
