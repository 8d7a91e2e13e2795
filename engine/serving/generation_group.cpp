#include "engine/serving/generation_group.h"

#include <algorithm>
#include <utility>

namespace engine {

ApiResult<std::shared_ptr<GenerationGroup>> GenerationGroup::start(ContextPtr context, GenerationPlan plan,
                                                                   Handlers handlers)
{
    std::int64_t tokens = 0;
    for (const auto &prompt : plan.prompts)
        tokens += static_cast<std::int64_t>(prompt.size()) * plan.n;
    const int requests = static_cast<int>(plan.prompts.size()) * plan.n;
    if (const std::string reason = context->admission.admit(requests, tokens); !reason.empty()) {
        context->metrics.rejected(reason);
        return tl::unexpected(overloaded());
    }
    auto group = std::make_shared<GenerationGroup>(std::move(context), std::move(plan), std::move(handlers));
    group->submit();
    return group;
}

GenerationGroup::GenerationGroup(ContextPtr context, GenerationPlan plan, Handlers handlers)
    : m_context(std::move(context)), m_plan(std::move(plan)), m_handlers(std::move(handlers))
{
    for (std::size_t prompt = 0; prompt < m_plan.prompts.size(); ++prompt) {
        for (int i = 0; i < m_plan.n; ++i) {
            Sequence sequence;
            sequence.id = m_context->nextRequest++;
            sequence.prompt = prompt;
            m_sequences.push_back(sequence);
        }
    }
}

GenerationGroup::~GenerationGroup()
{
    cancel();
}

void GenerationGroup::submit()
{
    for (std::size_t choice = 0; choice < m_sequences.size(); ++choice) {
        const Sequence &sequence = m_sequences[choice];
        GenerateRequest request;
        request.id = sequence.id;
        request.prompt = m_plan.prompts[sequence.prompt];
        request.sampling = m_plan.sampling;
        request.sampling.maxTokens = m_plan.maxTokens[sequence.prompt];
        if (request.sampling.seed) // the choices of one prompt must differ, and repeat with the same seed
            *request.sampling.seed += static_cast<std::int64_t>(choice) % m_plan.n;
        request.priority = m_plan.priority;
        request.cacheSalt = m_plan.cacheSalt;
        m_context->backend.generate(std::move(request),
                                    [weak = weak_from_this(), choice](const auto &message) {
                                        if (const auto self = weak.lock())
                                            self->handle(static_cast<int>(choice), message);
                                    });
    }
}

void GenerationGroup::handle(int choice, const std::variant<GenerationEvent, RequestFailure> &message)
{
    const auto self = shared_from_this(); // the handlers may let go of it
    ++m_dispatching;
    dispatch(choice, message);
    if (--m_dispatching == 0 && m_forgotten)
        m_handlers = {};
}

void GenerationGroup::dispatch(int choice, const std::variant<GenerationEvent, RequestFailure> &message)
{
    Sequence &sequence = m_sequences[static_cast<std::size_t>(choice)];
    if (m_over || sequence.ended)
        return;
    if (const auto *failure = std::get_if<RequestFailure>(&message)) {
        end(sequence, FinishReason::Abort, true);
        fail(*failure);
        return;
    }
    const auto &event = std::get<GenerationEvent>(message);
    observe(sequence, event);
    if (event.finish && event.finish->reason == FinishReason::Abort) {
        end(sequence, FinishReason::Abort, true);
        fail({sequence.id, "unavailable", "The engine gave up this request before it was finished."});
        return;
    }
    if (event.finish)
        end(sequence, event.finish->reason, true);
    m_handlers.event(choice, event);
    if (m_over || !event.finish)
        return;
    for (const Sequence &other : m_sequences) {
        if (!other.ended)
            return;
    }
    m_over = true;
    m_handlers.done();
}

void GenerationGroup::observe(Sequence &sequence, const GenerationEvent &event)
{
    if (event.cachedPromptTokens > 0)
        sequence.cached = event.cachedPromptTokens;
    sequence.times = event.times;
    sequence.preemptions = event.preemptions;
    const int count = static_cast<int>(event.tokens.size());
    if (count == 0)
        return;
    const Seconds now = m_context->now();
    int later = count;
    if (sequence.generated == 0) {
        endPrefill(sequence);
        m_context->metrics.firstToken(
            now - m_plan.arrival, static_cast<int>(m_plan.prompts[sequence.prompt].size()), sequence.cached);
        --later;
        sequence.lastToken = now;
    }
    if (later > 0)
        m_context->metrics.laterTokens((now - sequence.lastToken) / later, later);
    m_context->metrics.generatedTokens(count);
    sequence.generated += count;
    sequence.lastToken = now;
}

void GenerationGroup::endPrefill(Sequence &sequence)
{
    if (std::exchange(sequence.prefilled, true))
        return;
    m_context->admission.promptDone(static_cast<std::int64_t>(m_plan.prompts[sequence.prompt].size()));
}

void GenerationGroup::end(Sequence &sequence, FinishReason reason, bool countReason)
{
    if (std::exchange(sequence.ended, true))
        return;
    endPrefill(sequence);
    m_context->admission.requestEnded();
    FinishedRequest finished;
    finished.reason = reason;
    finished.countReason = countReason;
    finished.promptTokens = static_cast<int>(m_plan.prompts[sequence.prompt].size());
    finished.cachedPromptTokens = sequence.cached;
    finished.generationTokens = sequence.generated;
    finished.maxTokens = m_plan.maxTokens[sequence.prompt];
    finished.n = m_plan.n;
    finished.endsRequest = std::ranges::all_of(m_sequences, &Sequence::ended);
    for (const Sequence &choice : m_sequences)
        finished.longestGeneration = std::max(finished.longestGeneration, choice.generated);
    finished.preemptions = sequence.preemptions;
    finished.arrival = m_plan.arrival;
    finished.times = sequence.times;
    m_context->metrics.finished(finished);
}

void GenerationGroup::fail(const RequestFailure &failure)
{
    cancel();
    m_handlers.failed(failure);
}

void GenerationGroup::cancel()
{
    if (std::exchange(m_over, true))
        return;
    for (Sequence &sequence : m_sequences) {
        if (sequence.ended)
            continue;
        m_context->backend.cancel(sequence.id);
        end(sequence, FinishReason::Abort, false);
    }
}

void GenerationGroup::forget()
{
    cancel();
    m_forgotten = true;
    if (m_dispatching == 0) // else one of the handlers is running: they go when it has returned
        m_handlers = {};
}

int GenerationGroup::promptTokens() const
{
    std::size_t total = 0;
    for (const auto &prompt : m_plan.prompts)
        total += prompt.size();
    return static_cast<int>(total);
}

int GenerationGroup::promptTokensOf(int choice) const
{
    return static_cast<int>(m_plan.prompts[m_sequences[static_cast<std::size_t>(choice)].prompt].size());
}

int GenerationGroup::completionTokens() const
{
    int total = 0;
    for (const Sequence &sequence : m_sequences)
        total += sequence.generated;
    return total;
}

int GenerationGroup::completionTokensOf(int choice) const
{
    return m_sequences[static_cast<std::size_t>(choice)].generated;
}

int GenerationGroup::cachedTokens() const
{
    int total = 0;
    for (std::size_t i = 0; i < m_sequences.size(); i += static_cast<std::size_t>(m_plan.n))
        total += m_sequences[i].cached;
    return total;
}

} // namespace engine
