#include "engine/serving/tool_call_parser.h"

#include "engine/serving/text_matching.h"
#include <nlohmann/json.hpp>

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::string_view kOpen = "<tool_call>";
constexpr std::string_view kClose = "</tool_call>";
constexpr std::string_view kSpace = " \t\r\n";

bool isSpace(char c)
{
    return kSpace.find(c) != std::string_view::npos;
}

bool isArguments(const std::string &key)
{
    return key == "arguments" || key == "parameters";
}

void append(std::vector<ToolEvent> &events, ToolEvent::Kind kind, std::string_view text)
{
    const bool joins = kind == ToolEvent::Kind::Content || kind == ToolEvent::Kind::Arguments;
    if (joins && text.empty())
        return;
    if (joins && !events.empty() && events.back().kind == kind)
        events.back().text += text;
    else
        events.push_back({kind, std::string(text)});
}

std::optional<ToolCall> readCall(const std::string &text)
{
    ToolCallScanner scanner;
    std::vector<ToolEvent> events;
    for (const char c : text) {
        if (scanner.isDone())
            break;
        if (!scanner.feed(c, events))
            return std::nullopt;
    }
    if (!scanner.isDone())
        return std::nullopt;
    ToolCall call;
    for (const ToolEvent &event : events) {
        if (event.kind == ToolEvent::Kind::CallStart)
            call.name = event.text;
        else if (event.kind == ToolEvent::Kind::Arguments)
            call.arguments += event.text;
    }
    if (call.name.empty() || !Json::accept(call.arguments))
        return std::nullopt;
    return call;
}

} // namespace

const std::vector<std::string> &knownToolCallParsers()
{
    static const std::vector<std::string> names{"hermes"};
    return names;
}

ParsedToolCalls parseHermesCalls(std::string_view text)
{
    ParsedToolCalls parsed;
    auto open = text.find(kOpen);
    parsed.content = std::string(text.substr(0, open));
    while (open != std::string_view::npos) {
        const auto begin = open + kOpen.size();
        const auto close = text.find(kClose, begin);
        const auto call = readCall(std::string(text.substr(begin, close - begin)));
        if (!call && !parsed.calls.empty() && close == std::string_view::npos)
            break; // cut off: the calls before it are whole
        if (!call)
            return {std::string(text), {}};
        parsed.calls.push_back(*call);
        open = close == std::string_view::npos ? close : text.find(kOpen, close);
    }
    return parsed;
}

ParsedToolCalls parseCallArray(std::string_view text)
{
    ParsedToolCalls parsed;
    if (!Json::accept(text)) {
        parsed.content = std::string(text);
        return parsed;
    }
    ToolCallStream stream(ToolCallStream::Form::Array);
    for (const ToolEvent &event : stream.feed(text)) {
        if (event.kind == ToolEvent::Kind::CallStart)
            parsed.calls.push_back({event.text, {}});
        else if (event.kind == ToolEvent::Kind::Arguments)
            parsed.calls.back().arguments += event.text;
    }
    return parsed;
}

bool ToolCallScanner::broken()
{
    m_state = State::Broken;
    return false;
}

bool ToolCallScanner::feed(char c, std::vector<ToolEvent> &events)
{
    switch (m_state) {
    case State::Open:
        if (c == '{')
            m_state = State::KeyStart;
        return c == '{' || isSpace(c) || broken();
    case State::KeyStart:
        if (c == '"') {
            m_key.clear();
            m_state = State::Key;
        }
        return c == '"' || isSpace(c) || broken();
    case State::Key:
        if (c == '"')
            m_state = State::Colon;
        else
            m_key += c;
        return true;
    case State::Colon:
        if (c == ':')
            m_state = State::Value;
        return c == ':' || isSpace(c) || broken();
    case State::Value:
        if (isSpace(c))
            return true;
        m_state = State::InValue;
        m_value.clear();
        m_depth = 0;
        m_inString = m_escaped = false;
        return feedValue(c, events);
    case State::InValue:
        return feedValue(c, events);
    case State::AfterValue:
        if (c == ',')
            m_state = State::KeyStart;
        if (c == '}') {
            m_state = State::Done;
            if (!m_argued)
                emitArguments("{}", events);
            events.push_back({ToolEvent::Kind::CallEnd, {}});
        }
        return c == ',' || c == '}' || isSpace(c) || broken();
    case State::Done:
    case State::Broken:
        return false;
    }
    return false;
}

bool ToolCallScanner::feedValue(char c, std::vector<ToolEvent> &events)
{
    if (m_depth == 0 && !m_inString && (c == ',' || c == '}' || isSpace(c))) { // the end of a number or word
        endValue(events);
        m_state = State::AfterValue;
        return isSpace(c) || feed(c, events);
    }
    const bool streamed = isArguments(m_key);
    if (streamed)
        emitArguments(std::string_view(&c, 1), events);
    else
        m_value += c;
    if (m_inString) {
        if (m_escaped)
            m_escaped = false;
        else if (c == '\\')
            m_escaped = true;
        else if (c == '"')
            m_inString = false;
    } else if (c == '"') {
        m_inString = true;
        return true;
    } else if (c == '{' || c == '[') {
        ++m_depth;
    } else if (c == '}' || c == ']') {
        --m_depth;
    }
    if (m_depth == 0 && !m_inString && (c == '"' || c == '}' || c == ']')) {
        endValue(events);
        m_state = State::AfterValue;
    }
    return m_depth >= 0 || broken();
}

void ToolCallScanner::endValue(std::vector<ToolEvent> &events)
{
    if (m_key == "name" && !m_named) {
        const Json name = Json::parse(m_value, nullptr, false);
        if (name.is_string()) {
            m_named = true;
            events.push_back({ToolEvent::Kind::CallStart, name.get<std::string>()});
            append(events, ToolEvent::Kind::Arguments, m_early);
            m_early.clear();
        }
    }
    m_key.clear();
    m_value.clear();
}

void ToolCallScanner::emitArguments(std::string_view text, std::vector<ToolEvent> &events)
{
    m_argued = true;
    if (m_named)
        append(events, ToolEvent::Kind::Arguments, text);
    else
        m_early += text;
}

ToolCallStream::ToolCallStream(Form form) : m_form(form) {}

std::vector<ToolEvent> ToolCallStream::feed(std::string_view text)
{
    std::vector<ToolEvent> events;
    m_held += text;
    std::size_t before = 0;
    do {
        before = m_held.size();
        if (m_state == State::Call)
            feedCall(events);
        else
            feedText(events);
    } while (!m_held.empty() && m_held.size() != before);
    return events;
}

void ToolCallStream::feedText(std::vector<ToolEvent> &events)
{
    if (m_form == Form::Array) { // brackets, commas and space between the objects
        const auto object = m_held.find('{');
        m_held.erase(0, object);
        if (object != std::string::npos) {
            m_scanner = {};
            m_state = State::Call;
        }
        return;
    }
    if (m_state == State::AfterCall) { // the closing tag and space are no content
        const auto first = m_held.find_first_not_of(kSpace);
        m_held.erase(0, first);
        if (m_held.starts_with(kClose)) {
            m_held.erase(0, kClose.size());
            return;
        }
        if (kClose.starts_with(m_held))
            return;
        m_state = State::Text;
    }
    const auto open = m_held.find(kOpen);
    if (open != std::string::npos) {
        append(events, ToolEvent::Kind::Content, std::string_view(m_held).substr(0, open));
        m_held.erase(0, open + kOpen.size());
        m_scanner = {};
        m_state = State::Call;
        return;
    }
    const std::size_t keep = partialMatch(m_held, kOpen);
    append(events, ToolEvent::Kind::Content, std::string_view(m_held).substr(0, m_held.size() - keep));
    m_held.erase(0, m_held.size() - keep);
}

void ToolCallStream::feedCall(std::vector<ToolEvent> &events)
{
    std::size_t used = 0;
    while (used < m_held.size() && !m_scanner.isDone()) {
        if (!m_scanner.feed(m_held[used++], events)) {
            m_state = State::AfterCall; // not a call after all
            break;
        }
    }
    m_held.erase(0, used);
    if (m_scanner.isDone())
        m_state = State::AfterCall;
}

std::vector<ToolEvent> ToolCallStream::finish()
{
    std::vector<ToolEvent> events;
    if (m_state == State::Text && m_form == Form::Hermes)
        append(events, ToolEvent::Kind::Content, m_held);
    m_held.clear();
    return events;
}

} // namespace engine
