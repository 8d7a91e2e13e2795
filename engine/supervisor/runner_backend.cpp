#include "engine/supervisor/runner_backend.h"

#include "engine/supervisor/runner_backend_state.h"

#include <boost/asio/post.hpp>

namespace engine {

namespace asio = boost::asio;
using boost::system::error_code;
using cluster::ErrorCode;

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
