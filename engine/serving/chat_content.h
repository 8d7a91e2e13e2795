#pragma once

#include "engine/serving/reasoning_parser.h"
#include "engine/serving/serving_context.h"
#include "engine/serving/tool_call_parser.h"
#include "engine/serving/tool_choice.h"
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace engine {

/// Cuts the text of one chat choice into thoughts, content and tool calls, as deltas of a stream or as the
/// message of a whole answer. Both see the same pieces.
class ChatContent
{
public:
    /// prompt: the text before the answer; decides with the parser's name whether the answer begins inside
    /// thoughts.
    ChatContent(ServingContext &context, const ToolPlan &tools, int choice, bool splitReasoning,
                const std::string &prompt, bool includeReasoning);

    /// The deltas for a piece of text; with isLast also what was held back.
    [[nodiscard]] std::vector<nlohmann::ordered_json> deltas(const std::string &text, bool isLast);

    /// The message of a whole answer.
    [[nodiscard]] nlohmann::ordered_json message(const std::string &role, const std::string &echo,
                                                 const std::string &text);

    [[nodiscard]] bool isThinking() const { return m_reasoning && m_reasoning->isInside(); }
    [[nodiscard]] bool hasReasoning() const { return m_reasoning.has_value(); }
    [[nodiscard]] bool hasToolCall() const { return m_anyCall; }
    [[nodiscard]] nlohmann::ordered_json emptyDelta() const; ///< For a last chunk without text.

private:
    void addContent(const std::string &content, bool isLast, std::vector<nlohmann::ordered_json> &deltas);
    void addToolEvents(const std::vector<ToolEvent> &events, std::vector<nlohmann::ordered_json> &deltas);
    [[nodiscard]] nlohmann::ordered_json toolDelta(const ToolEvent &event);
    [[nodiscard]] std::string newCallId();
    [[nodiscard]] bool isForced() const;

    ServingContext &m_context;
    const ToolPlan &m_tools;
    int m_choice;
    bool m_includeReasoning;
    std::optional<ReasoningParser> m_reasoning;
    std::optional<ToolCallStream> m_toolStream;
    int m_callIndex = -1;
    bool m_callOpen = false;
    std::string m_pendingName; ///< Old dialect: the name goes with the first piece of arguments.
    bool m_anyCall = false;
};

} // namespace engine
