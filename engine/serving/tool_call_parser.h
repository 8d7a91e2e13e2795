#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace engine {

[[nodiscard]] const std::vector<std::string> &knownToolCallParsers();

struct ToolCall
{
    std::string name;
    std::string arguments; ///< JSON text.
};

struct ParsedToolCalls
{
    std::string content; ///< What is not a call.
    std::vector<ToolCall> calls; ///< Whole ones only.
};

/// `<tool_call>\n{"name": …, "arguments": …}\n</tool_call>`, as Hermes and Qwen models write it. If a call is
/// not whole JSON, all of the text is content.
[[nodiscard]] ParsedToolCalls parseHermesCalls(std::string_view text);

/// `[{"name": …, "parameters": …}]`, as tool_choice "required" is guided in vLLM 0.8.
[[nodiscard]] ParsedToolCalls parseCallArray(std::string_view text);

struct ToolEvent
{
    enum class Kind { Content, CallStart, Arguments, CallEnd };
    Kind kind = Kind::Content;
    std::string text; ///< Content, name, or a piece of the arguments' JSON text.

    bool operator==(const ToolEvent &) const = default;
};

/// Reads one JSON object with the keys name and arguments (or parameters) character by character.
class ToolCallScanner
{
public:
    /// Takes one character; returns false if it can't belong to such an object.
    bool feed(char c, std::vector<ToolEvent> &events);
    [[nodiscard]] bool isDone() const { return m_state == State::Done; }
    [[nodiscard]] bool hasStarted() const { return m_state != State::Open; }

private:
    enum class State { Open, KeyStart, Key, Colon, Value, InValue, AfterValue, Done, Broken };

    bool feedValue(char c, std::vector<ToolEvent> &events);
    void endValue(std::vector<ToolEvent> &events);
    void emitArguments(std::string_view text, std::vector<ToolEvent> &events);
    bool broken();

    State m_state = State::Open;
    std::string m_key;
    std::string m_value; ///< Raw text of the value in hand, unless it is streamed.
    std::string m_early; ///< Arguments that came before the name.
    int m_depth = 0; ///< Within the value.
    bool m_inString = false;
    bool m_escaped = false;
    bool m_named = false;
    bool m_argued = false;
};

/// The streaming side of both forms: calls become events as soon as they can be told from text.
class ToolCallStream
{
public:
    enum class Form { Hermes, Array };

    explicit ToolCallStream(Form form);

    [[nodiscard]] std::vector<ToolEvent> feed(std::string_view text);
    [[nodiscard]] std::vector<ToolEvent> finish(); ///< Text held back; an unfinished call is dropped.

private:
    enum class State { Text, Call, AfterCall };

    void feedText(std::vector<ToolEvent> &events);
    void feedCall(std::vector<ToolEvent> &events);

    const Form m_form;
    State m_state = State::Text;
    std::string m_held;
    ToolCallScanner m_scanner;
};

} // namespace engine
