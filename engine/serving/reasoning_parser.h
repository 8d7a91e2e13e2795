#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace engine {

[[nodiscard]] const std::vector<std::string> &knownReasoningParsers();

/// Splits an answer into the thoughts before `</think>` and the rest, however the text is cut into pieces.
/// The tags are never part of either. Without a closing tag everything is thought.
class ReasoningParser
{
public:
    struct Piece
    {
        std::string reasoning;
        std::string content;
    };

    /// startsInside: the text begins with thoughts even without `<think>` (it was in the prompt, or the model
    /// always thinks, as DeepSeek R1 does). Otherwise only a leading `<think>` begins them.
    explicit ReasoningParser(bool startsInside);

    /// How parser `name` begins after a prompt that ends so.
    [[nodiscard]] static bool startsInsideFor(const std::string &name, std::string_view prompt);

    [[nodiscard]] Piece feed(std::string_view text);
    [[nodiscard]] Piece finish(); ///< What was held back as a possible tag.
    [[nodiscard]] bool isInside() const { return m_state != State::Outside; }

private:
    enum class State { Start, Inside, Outside };

    const bool m_startsInside;
    State m_state = State::Start;
    std::string m_held;
};

} // namespace engine
