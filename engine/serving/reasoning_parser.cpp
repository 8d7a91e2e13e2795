#include "engine/serving/reasoning_parser.h"

#include "engine/serving/text_matching.h"

namespace engine {

namespace {

constexpr std::string_view kThink = "<think>";
constexpr std::string_view kThinkEnd = "</think>";
constexpr std::string_view kBlanks = " \t\r\n";

} // namespace

const std::vector<std::string> &knownReasoningParsers()
{
    static const std::vector<std::string> names{"deepseek_r1", "qwen3"};
    return names;
}

ReasoningParser::ReasoningParser(bool startsInside) : m_startsInside(startsInside) {}

bool ReasoningParser::startsInsideFor(const std::string &name, std::string_view prompt)
{
    if (name == "deepseek_r1")
        return true;
    const auto last = prompt.find_last_not_of(kBlanks);
    return last != std::string_view::npos && prompt.substr(0, last + 1).ends_with(kThink);
}

ReasoningParser::Piece ReasoningParser::feed(std::string_view text)
{
    Piece piece;
    m_held += text;
    if (m_state == State::Start) {
        const auto first = m_held.find_first_not_of(kBlanks);
        const std::string_view word
            = first == std::string::npos ? std::string_view() : std::string_view(m_held).substr(first);
        if (word.starts_with(kThink)) {
            m_held.erase(0, first + kThink.size());
            m_state = State::Inside;
        } else if (kThink.starts_with(word)) {
            return piece; // only space so far, or the beginning of the tag
        } else {
            m_state = m_startsInside ? State::Inside : State::Outside;
        }
    }
    if (m_state == State::Inside) {
        const auto end = m_held.find(kThinkEnd);
        if (end == std::string::npos) {
            const std::size_t keep = partialMatch(m_held, kThinkEnd);
            piece.reasoning = m_held.substr(0, m_held.size() - keep);
            m_held.erase(0, m_held.size() - keep);
            return piece;
        }
        piece.reasoning = m_held.substr(0, end);
        m_held.erase(0, end + kThinkEnd.size());
        m_state = State::Outside;
    }
    piece.content = std::move(m_held);
    m_held.clear();
    return piece;
}

ReasoningParser::Piece ReasoningParser::finish()
{
    Piece piece;
    const bool thought = m_state == State::Inside || (m_state == State::Start && m_startsInside);
    (thought ? piece.reasoning : piece.content) = std::move(m_held);
    m_held.clear();
    return piece;
}

} // namespace engine
