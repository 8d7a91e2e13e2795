#include "engine/serving/completion_answer.h"

#include "engine/serving/logprobs_json.h"
#include "engine/serving/usage_json.h"
#include <nlohmann/json.hpp>

namespace engine {

using Json = nlohmann::ordered_json;

CompletionAnswer::CompletionAnswer(ContextPtr context, ExchangePtr exchange, CompletionRequest request,
                                   std::string id)
    : m_context(std::move(context)), m_stream(exchange, m_context->dialect), m_exchange(std::move(exchange)),
      m_request(std::move(request)), m_id(std::move(id)), m_created(m_context->unixTime())
{
}

void CompletionAnswer::start(SamplingParams sampling, std::vector<int> maxTokens, Seconds arrival)
{
    GenerationPlan plan;
    for (const CompletionPrompt &prompt : m_request.prompts)
        plan.prompts.push_back(prompt.tokens);
    plan.maxTokens = std::move(maxTokens);
    plan.sampling = std::move(sampling);
    plan.n = static_cast<int>(m_request.fields.n);
    plan.priority
        = static_cast<int>(std::clamp<std::int64_t>(m_request.fields.priority, INT32_MIN, INT32_MAX));
    plan.cacheSalt = m_request.fields.cacheSalt;
    plan.arrival = arrival;
    m_choices.resize(plan.prompts.size() * static_cast<std::size_t>(plan.n));
    GenerationGroup::Handlers handlers;
    handlers.event
        = [self = shared_from_this()](int index, const GenerationEvent &event) { self->take(index, event); };
    handlers.failed
        = [self = shared_from_this()](const RequestFailure &failure) { self->fail(fromFailure(failure)); };
    handlers.done = [self = shared_from_this()] { self->complete(); };
    auto group = GenerationGroup::start(m_context, std::move(plan), std::move(handlers));
    if (!group) {
        respondError(*m_exchange, *m_context, group.error());
        return;
    }
    m_group = *group;
    if (m_request.fields.stream)
        m_stream.begin();
    m_exchange->onDisconnect([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (self && self->m_group) {
            self->m_group->cancel();
            self->release();
        }
    });
}

/// Breaks the circle of answer and group: from here on nobody holds the answer.
void CompletionAnswer::release()
{
    if (const auto group = std::exchange(m_group, nullptr))
        group->forget();
}

const CompletionPrompt &CompletionAnswer::promptOf(int index) const
{
    return m_request.prompts[static_cast<std::size_t>(index / static_cast<int>(m_request.fields.n))];
}

bool CompletionAnswer::promptOnly() const
{
    return m_request.fields.echo && m_request.fields.maxTokens == 0;
}

void CompletionAnswer::take(int index, const GenerationEvent &event)
{
    Choice &choice = m_choices[static_cast<std::size_t>(index)];
    if (!event.promptTokens.empty())
        choice.promptTokens = event.promptTokens;
    if (event.finish)
        choice.finish = *event.finish;
    if (m_request.fields.stream) {
        if (const auto ready = choice.gatherer.add(event, m_stream.isBusy()))
            writeChunk(index, *ready);
        return;
    }
    choice.text += event.text;
    if (m_request.logprobs >= 0 || m_request.fields.returnTokenIds)
        choice.tokens.insert(choice.tokens.end(), event.tokens.begin(), event.tokens.end());
}

Json CompletionAnswer::logprobsJson(Choice &choice, const std::vector<TokenOutput> &tokens,
                                    bool withPrompt) const
{
    if (m_request.logprobs < 0)
        return nullptr;
    std::vector<TokenOutput> all;
    if (withPrompt)
        all = choice.promptTokens;
    if (!promptOnly())
        all.insert(all.end(), tokens.begin(), tokens.end());
    return completionLogprobs(all, static_cast<int>(m_request.logprobs), m_request.fields.tokensAsIds,
                              choice.offset);
}

Json CompletionAnswer::chunkHead() const
{
    return Json{
        {"id", m_id}, {"object", "text_completion"}, {"created", m_created}, {"model", m_request.model}};
}

void CompletionAnswer::writeChunk(int index, const GenerationEvent &event)
{
    const SamplingFields &fields = m_request.fields;
    const bool isNew = m_context->dialect.extraNullFields;
    Choice &choice = m_choices[static_cast<std::size_t>(index)];
    const bool first = !std::exchange(choice.started, true);
    std::string text = promptOnly() ? "" : event.text;
    if (first && fields.echo)
        text = promptOf(index).text + text;
    Json item{{"index", index}, {"text", text}};
    item["logprobs"] = logprobsJson(choice, event.tokens, first && fields.echo);
    item["finish_reason"] = event.finish ? Json(finishReasonText(event.finish->reason)) : Json();
    item["stop_reason"] = event.finish ? stopReason(*event.finish) : Json();
    if (isNew) {
        item["prompt_token_ids"] = nullptr;
        if (first && (fields.echo || fields.returnTokenIds))
            item["prompt_token_ids"] = promptOf(index).tokens;
        item["token_ids"] = fields.returnTokenIds ? tokenIds(event.tokens) : Json();
    }
    Json chunk = chunkHead();
    chunk["choices"] = Json::array({std::move(item)});
    if (fields.continuousUsage) {
        chunk["usage"] = runningUsage(*m_group, index, false);
        if (!isNew)
            chunk["usage"]["prompt_tokens_details"] = nullptr;
    } else if (!isNew) {
        chunk["usage"] = nullptr;
    }
    if (isNew && event.finish && !fields.includeUsage)
        chunk["system_fingerprint"] = m_context->fingerprint;
    m_stream.event(toText(chunk));
}

Json CompletionAnswer::choiceJson(int index, Choice &choice) const
{
    const SamplingFields &fields = m_request.fields;
    std::string text = promptOnly() ? "" : choice.text;
    if (fields.echo)
        text = promptOf(index).text + text;
    Json item{{"index", index}, {"text", text}};
    item["logprobs"] = logprobsJson(choice, choice.tokens, fields.echo);
    item["finish_reason"] = finishReasonText(choice.finish.reason);
    item["stop_reason"] = stopReason(choice.finish);
    const Json prompt = fields.promptLogprobs ? promptLogprobs(choice.promptTokens) : Json();
    if (!m_context->dialect.extraNullFields) {
        item["prompt_logprobs"] = prompt;
        return item;
    }
    item["token_ids"] = fields.returnTokenIds ? tokenIds(choice.tokens) : Json();
    item["prompt_logprobs"] = prompt;
    item["prompt_token_ids"] = fields.returnTokenIds ? Json(promptOf(index).tokens) : Json();
    item["routed_experts"] = nullptr;
    return item;
}

void CompletionAnswer::complete()
{
    const auto self = shared_from_this();
    const bool isNew = m_context->dialect.extraNullFields;
    if (m_request.fields.stream) {
        if (m_request.fields.includeUsage) {
            Json chunk = chunkHead();
            chunk["choices"] = Json::array();
            chunk["usage"] = finalStreamUsage(*m_context, *m_group);
            if (isNew)
                chunk["system_fingerprint"] = m_context->fingerprint;
            m_stream.event(toText(chunk));
        }
        m_stream.done();
        release();
        return;
    }
    Json answer = chunkHead();
    answer["choices"] = Json::array();
    for (std::size_t i = 0; i < m_choices.size(); ++i)
        answer["choices"].push_back(choiceJson(static_cast<int>(i), m_choices[i]));
    if (isNew) {
        answer["service_tier"] = nullptr;
        answer["system_fingerprint"] = m_context->fingerprint;
    }
    answer["usage"] = fullUsage(*m_context, *m_group);
    if (isNew) {
        for (const char *key : {"kv_transfer_params", "ec_transfer_params", "metrics"})
            answer[key] = nullptr;
    }
    respondJson(*m_exchange, toText(answer));
    release();
}

void CompletionAnswer::fail(const ApiError &error)
{
    const auto self = shared_from_this();
    if (m_request.fields.stream) {
        m_stream.error(error);
        m_stream.done();
    } else {
        respondError(*m_exchange, *m_context, error);
    }
    release();
}

} // namespace engine
