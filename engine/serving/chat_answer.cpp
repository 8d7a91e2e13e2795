#include "engine/serving/chat_answer.h"

#include "engine/serving/logprobs_json.h"
#include "engine/serving/usage_json.h"
#include <nlohmann/json.hpp>

namespace engine {

using Json = nlohmann::ordered_json;
using Mode = ToolPlan::Mode;

ChatAnswer::ChatAnswer(ContextPtr context, ExchangePtr exchange, ChatRequest request, Prompt prompt,
                       std::string id)
    : m_context(std::move(context)), m_stream(exchange, m_context->dialect), m_exchange(std::move(exchange)),
      m_request(std::move(request)), m_prompt(std::move(prompt)), m_id(std::move(id)),
      m_created(m_context->unixTime())
{
}

void ChatAnswer::start(SamplingParams sampling, int maxTokens, Seconds arrival)
{
    // A grammar holds the whole output, so there is no room for thoughts in front of it.
    const bool split = !m_context->options.reasoningParser.empty() && sampling.grammar.empty();
    m_choices.resize(static_cast<std::size_t>(m_request.fields.n));
    for (std::size_t i = 0; i < m_choices.size(); ++i) {
        m_choices[i].content
            = std::make_unique<ChatContent>(*m_context, m_request.tools, static_cast<int>(i), split,
                                            m_prompt.text, m_request.includeReasoning);
    }
    GenerationPlan plan;
    plan.prompts.push_back(m_prompt.tokens);
    plan.maxTokens.push_back(maxTokens);
    plan.sampling = std::move(sampling);
    plan.n = static_cast<int>(m_request.fields.n);
    plan.priority
        = static_cast<int>(std::clamp<std::int64_t>(m_request.fields.priority, INT32_MIN, INT32_MAX));
    plan.cacheSalt = m_request.fields.cacheSalt;
    plan.arrival = arrival;
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
void ChatAnswer::release()
{
    if (const auto group = std::exchange(m_group, nullptr))
        group->forget();
}

void ChatAnswer::take(int index, const GenerationEvent &event)
{
    Choice &choice = m_choices[static_cast<std::size_t>(index)];
    if (!event.promptTokens.empty() && m_promptTokens.empty())
        m_promptTokens = event.promptTokens;
    if (event.finish)
        choice.finish = *event.finish;
    if (m_request.fields.stream) {
        writeRoles();
        if (const auto ready = choice.gatherer.add(event, m_stream.isBusy()))
            writeEvent(index, *ready);
        return;
    }
    choice.text += event.text;
    if (m_request.topLogprobs >= 0 || m_request.fields.returnTokenIds || choice.content->hasReasoning())
        choice.tokens.insert(choice.tokens.end(), event.tokens.begin(), event.tokens.end());
}

Json ChatAnswer::head(const char *object) const
{
    return Json{{"id", m_id}, {"object", object}, {"created", m_created}, {"model", m_request.model}};
}

Json ChatAnswer::logprobsJson(const std::vector<TokenOutput> &tokens) const
{
    if (m_request.topLogprobs < 0 || tokens.empty())
        return nullptr;
    return chatLogprobs(tokens, static_cast<int>(m_request.topLogprobs), m_request.fields.tokensAsIds);
}

void ChatAnswer::writeRoles()
{
    if (std::exchange(m_rolesSent, true))
        return;
    const auto write = [this](int index, Json delta) {
        Json choice{
            {"index", index}, {"delta", std::move(delta)}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
        writeChunk(index, std::move(choice), false, true);
    };
    for (int i = 0; i < static_cast<int>(m_choices.size()); ++i)
        write(i, Json{{"role", m_request.role}, {"content", ""}});
    if (m_request.echoText.empty())
        return;
    for (int i = 0; i < static_cast<int>(m_choices.size()); ++i)
        write(i, Json{{"content", m_request.echoText}});
}

void ChatAnswer::writeChunk(int index, Json choice, bool isLast, bool beforeFirst)
{
    const bool isNew = m_context->dialect.extraNullFields;
    const SamplingFields &fields = m_request.fields;
    Json chunk = head("chat.completion.chunk");
    chunk["choices"] = Json::array({std::move(choice)});
    if (fields.continuousUsage) {
        chunk["usage"] = runningUsage(*m_group, index, beforeFirst);
        if (isNew)
            chunk["usage"]["completion_tokens_details"] = nullptr;
    }
    if (isNew && beforeFirst) {
        chunk["prompt_token_ids"] = fields.returnTokenIds ? Json(m_prompt.tokens) : Json();
        chunk["prompt_text"] = m_request.returnPromptText ? Json(m_prompt.text) : Json();
    }
    if (isNew && isLast && !fields.includeUsage)
        chunk["system_fingerprint"] = m_context->fingerprint;
    m_stream.event(toText(chunk));
}

void ChatAnswer::countReasoning(Choice &choice, const GenerationEvent &event)
{
    if (choice.content->isThinking())
        m_reasoningTokens += static_cast<int>(event.tokens.size());
}

void ChatAnswer::writeEvent(int index, const GenerationEvent &event)
{
    Choice &choice = m_choices[static_cast<std::size_t>(index)];
    const bool isNew = m_context->dialect.extraNullFields;
    const bool isLast = event.finish.has_value();
    countReasoning(choice, event);
    std::vector<Json> deltas = choice.content->deltas(event.text, isLast);
    if (deltas.empty() && isLast)
        deltas.push_back(choice.content->emptyDelta());
    for (std::size_t i = 0; i < deltas.size(); ++i) {
        const bool carriesEnd = isLast && i + 1 == deltas.size();
        Json item{{"index", index}, {"delta", std::move(deltas[i])}};
        item["logprobs"] = i == 0 ? logprobsJson(event.tokens) : Json();
        item["finish_reason"] = carriesEnd ? Json(reasonText(choice)) : Json();
        if (carriesEnd)
            item["stop_reason"] = stopReason(choice.finish);
        if (isNew) {
            item["token_ids"] = nullptr;
            if (m_request.fields.returnTokenIds)
                item["token_ids"] = i == 0 ? tokenIds(event.tokens) : Json::array();
        }
        writeChunk(index, std::move(item), carriesEnd, false);
    }
}

std::string ChatAnswer::reasonText(const Choice &choice) const
{
    const Mode mode = m_request.tools.mode;
    const bool callsEnd = mode == Mode::Auto || (mode == Mode::Required && !m_context->dialect.isOld());
    if (choice.finish.reason == FinishReason::Stop && callsEnd && choice.content->hasToolCall())
        return "tool_calls";
    return finishReasonText(choice.finish.reason);
}

Json ChatAnswer::choiceJson(int index, Choice &choice) const
{
    Json item{{"index", index}};
    item["message"] = choice.content->message(m_request.role, m_request.echoText, choice.text);
    item["logprobs"] = logprobsJson(choice.tokens);
    item["finish_reason"] = reasonText(choice);
    item["stop_reason"] = stopReason(choice.finish);
    if (m_context->dialect.extraNullFields) {
        item["token_ids"] = m_request.fields.returnTokenIds ? tokenIds(choice.tokens) : Json();
        item["routed_experts"] = nullptr;
    }
    return item;
}

int ChatAnswer::reasoningTokens() const
{
    return m_choices.front().content->hasReasoning() ? m_reasoningTokens : -1;
}

void ChatAnswer::complete()
{
    const auto self = shared_from_this();
    const bool isNew = m_context->dialect.extraNullFields;
    const SamplingFields &fields = m_request.fields;
    if (fields.stream) {
        if (fields.includeUsage) {
            Json chunk = head("chat.completion.chunk");
            chunk["choices"] = Json::array();
            chunk["usage"] = finalStreamUsage(*m_context, *m_group, reasoningTokens());
            if (isNew)
                chunk["system_fingerprint"] = m_context->fingerprint;
            m_stream.event(toText(chunk));
        }
        m_stream.done();
        release();
        return;
    }
    Json answer = head("chat.completion");
    answer["choices"] = Json::array();
    for (std::size_t i = 0; i < m_choices.size(); ++i) {
        Choice &choice = m_choices[i];
        if (choice.content->hasReasoning()) { // the tokens one by one, to see where the thoughts end
            ReasoningParser parser(
                ReasoningParser::startsInsideFor(m_context->options.reasoningParser, m_prompt.text));
            for (const TokenOutput &token : choice.tokens) {
                m_reasoningTokens += parser.isInside() ? 1 : 0;
                (void)parser.feed(token.piece);
            }
        }
        answer["choices"].push_back(choiceJson(static_cast<int>(i), choice));
    }
    if (isNew) {
        answer["service_tier"] = nullptr;
        answer["system_fingerprint"] = m_context->fingerprint;
    }
    answer["usage"] = fullUsage(*m_context, *m_group, reasoningTokens());
    answer["prompt_logprobs"] = fields.promptLogprobs ? promptLogprobs(m_promptTokens) : Json();
    if (isNew) {
        answer["prompt_token_ids"] = fields.returnTokenIds ? Json(m_prompt.tokens) : Json();
        answer["prompt_text"] = m_request.returnPromptText ? Json(m_prompt.text) : Json();
        for (const char *key : {"kv_transfer_params", "ec_transfer_params", "metrics"})
            answer[key] = nullptr;
    }
    respondJson(*m_exchange, toText(answer));
    release();
}

void ChatAnswer::fail(const ApiError &error)
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
