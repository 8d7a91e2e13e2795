#include "engine/serving/chat_content.h"

#include <nlohmann/json.hpp>

namespace engine {

using Json = nlohmann::ordered_json;
using Mode = ToolPlan::Mode;

ChatContent::ChatContent(ServingContext &context, const ToolPlan &tools, int choice, bool splitReasoning,
                         const std::string &prompt, bool includeReasoning)
    : m_context(context), m_tools(tools), m_choice(choice), m_includeReasoning(includeReasoning)
{
    if (splitReasoning)
        m_reasoning.emplace(ReasoningParser::startsInsideFor(context.options.reasoningParser, prompt));
    const bool isOld = context.dialect.isOld();
    if (tools.mode == Mode::Auto || (isForced() && !isOld))
        m_toolStream.emplace(ToolCallStream::Form::Hermes);
    else if (tools.mode == Mode::Required)
        m_toolStream.emplace(ToolCallStream::Form::Array);
}

bool ChatContent::isForced() const
{
    return m_tools.mode == Mode::Required || m_tools.mode == Mode::Named;
}

std::string ChatContent::newCallId()
{
    return "chatcmpl-tool-" + m_context.ids.hex(m_context.dialect.idDigits);
}

std::vector<Json> ChatContent::deltas(const std::string &text, bool isLast)
{
    ReasoningParser::Piece piece;
    if (m_reasoning) {
        piece = m_reasoning->feed(text);
        if (isLast) {
            const ReasoningParser::Piece rest = m_reasoning->finish();
            piece.reasoning += rest.reasoning;
            piece.content += rest.content;
        }
    } else {
        piece.content = text;
    }
    std::vector<Json> all;
    if (!piece.reasoning.empty() && m_includeReasoning)
        all.push_back(Json{{std::string(m_context.dialect.reasoningKey), piece.reasoning}});
    addContent(piece.content, isLast, all);
    return all;
}

void ChatContent::addContent(const std::string &content, bool isLast, std::vector<Json> &deltas)
{
    if (m_tools.mode == Mode::Named && m_context.dialect.isOld()) {
        if (content.empty() && !isLast)
            return;
        m_anyCall = true;
        Json call{{"index", m_choice}, {"function", Json{{"name", m_tools.name}, {"arguments", content}}}};
        deltas.push_back(Json{{"tool_calls", Json::array({std::move(call)})}});
        return;
    }
    if (!m_toolStream) {
        if (!content.empty())
            deltas.push_back(Json{{"content", content}});
        return;
    }
    std::vector<ToolEvent> events = m_toolStream->feed(content);
    if (isLast) {
        const std::vector<ToolEvent> rest = m_toolStream->finish();
        events.insert(events.end(), rest.begin(), rest.end());
    }
    if (m_tools.mode == Mode::Auto || !m_context.dialect.isOld()) {
        const bool found = m_callOpen
            || std::any_of(events.begin(), events.end(),
                           [](const ToolEvent &event) { return event.kind != ToolEvent::Kind::Content; });
        m_context.metrics.toolCallParsed("streaming", found ? "tool_call" : "no_tool_call",
                                         "chat_completions");
    }
    addToolEvents(events, deltas);
}

void ChatContent::addToolEvents(const std::vector<ToolEvent> &events, std::vector<Json> &deltas)
{
    for (const ToolEvent &event : events) {
        if (event.kind == ToolEvent::Kind::Content) {
            if (!isForced())
                deltas.push_back(Json{{"content", event.text}});
            continue;
        }
        if (event.kind == ToolEvent::Kind::CallStart) {
            ++m_callIndex;
            m_callOpen = true;
        }
        const bool wanted = m_tools.parallel || m_callIndex <= 0;
        if (event.kind == ToolEvent::Kind::CallEnd) {
            m_callOpen = false;
            continue;
        }
        if (!wanted)
            continue;
        m_anyCall = true;
        Json call = toolDelta(event);
        if (call.is_null())
            continue;
        Json delta = Json::object();
        if (!m_context.dialect.isOld())
            delta["content"] = nullptr;
        delta["tool_calls"] = Json::array({std::move(call)});
        deltas.push_back(std::move(delta));
    }
}

Json ChatContent::toolDelta(const ToolEvent &event)
{
    const bool isStart = event.kind == ToolEvent::Kind::CallStart;
    if (m_context.dialect.isOld()
        && m_tools.mode == Mode::Required) { // no id, the name with the first arguments
        if (isStart) {
            m_pendingName = event.text;
            return nullptr;
        }
        const Json name = m_pendingName.empty() ? Json() : Json(m_pendingName);
        m_pendingName.clear();
        return Json{{"type", "function"},
                    {"index", m_callIndex},
                    {"function", Json{{"name", name}, {"arguments", event.text}}}};
    }
    if (isStart) {
        return Json{{"id", newCallId()},
                    {"type", "function"},
                    {"index", m_callIndex},
                    {"function", Json{{"name", event.text}}}};
    }
    return Json{{"index", m_callIndex}, {"function", Json{{"arguments", event.text}}}};
}

Json ChatContent::emptyDelta() const
{
    return m_context.dialect.isOld() ? Json{{"content", ""}} : Json::object();
}

Json ChatContent::message(const std::string &role, const std::string &echo, const std::string &text)
{
    const bool isOld = m_context.dialect.isOld();
    ReasoningParser::Piece piece;
    piece.content = text;
    if (m_reasoning) {
        piece = m_reasoning->feed(text);
        const ReasoningParser::Piece rest = m_reasoning->finish();
        piece.reasoning += rest.reasoning;
        piece.content += rest.content;
    }
    ParsedToolCalls parsed;
    parsed.content = piece.content;
    if (m_tools.mode == Mode::Named && isOld)
        parsed = {"", {{m_tools.name, piece.content}}};
    else if (m_tools.mode == Mode::Required && isOld)
        parsed = parseCallArray(piece.content);
    else if (m_toolStream)
        parsed = parseHermesCalls(piece.content);
    if (m_toolStream && (m_tools.mode == Mode::Auto || !isOld)) {
        m_context.metrics.toolCallParsed("non_streaming", parsed.calls.empty() ? "no_tool_call" : "tool_call",
                                         "chat_completions");
    }
    if (!m_tools.parallel && parsed.calls.size() > 1)
        parsed.calls.resize(1);
    m_anyCall = !parsed.calls.empty();
    Json calls = Json::array();
    for (const ToolCall &call : parsed.calls) {
        calls.push_back(Json{{"id", newCallId()},
                             {"type", "function"},
                             {"function", Json{{"name", call.name}, {"arguments", call.arguments}}}});
    }
    const bool noContent
        = parsed.content.empty() && ((m_anyCall && !isForced()) || (m_reasoning && !piece.reasoning.empty()));
    const Json content = noContent && echo.empty() ? Json() : Json(echo + parsed.content);
    const Json reasoning = piece.reasoning.empty() || !m_includeReasoning ? Json() : Json(piece.reasoning);
    if (isOld)
        return Json{
            {"role", role}, {"reasoning_content", reasoning}, {"content", content}, {"tool_calls", calls}};
    Json message{{"role", role}, {"content", content}};
    for (const char *key : {"refusal", "annotations", "audio", "function_call"})
        message[key] = nullptr;
    if (m_anyCall)
        message["tool_calls"] = std::move(calls);
    message["reasoning"] = reasoning;
    return message;
}

} // namespace engine
