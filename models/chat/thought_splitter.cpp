#include "models/chat/thought_splitter.h"

#include <algorithm>

namespace models {
namespace {

constexpr std::string_view openTag = "<think>";
constexpr std::string_view closeTag = "</think>";
constexpr std::string_view blanks = " \t\r\n";

/// How much of the end of `text` could be the begin of `tag`.
std::size_t tagBeginAtEnd(std::string_view text, std::string_view tag)
{
    for (std::size_t length = std::min(text.size(), tag.size() - 1); length > 0; --length)
        if (text.substr(text.size() - length) == tag.substr(0, length))
            return length;
    return 0;
}

} // namespace

ThoughtSplitter::Parts ThoughtSplitter::add(std::string_view text)
{
    Parts parts;
    m_held += text;
    if (m_place == Place::Begin)
        takeBegin();
    if (m_place == Place::Thoughts)
        takeThoughts(parts);
    if (m_place == Place::GapBeforeAnswer)
        takeGap();
    if (m_place == Place::Answer) {
        parts.content += m_held;
        m_held.clear();
    }
    return parts;
}

void ThoughtSplitter::takeBegin()
{
    const std::size_t first = m_held.find_first_not_of(blanks);
    if (first == std::string::npos)
        return; // blanks only: they belong to whatever follows
    const std::string_view text = std::string_view(m_held).substr(first);
    if (text.substr(0, openTag.size()) == openTag) {
        m_held.erase(0, first + openTag.size());
        m_place = Place::Thoughts;
    } else if (openTag.substr(0, text.size()) != text) {
        m_place = Place::Answer;
    }
}

void ThoughtSplitter::takeThoughts(Parts &parts)
{
    const std::size_t end = m_held.find(closeTag);
    if (end != std::string::npos) {
        parts.reasoning += m_held.substr(0, end);
        m_held.erase(0, end + closeTag.size());
        m_place = Place::GapBeforeAnswer;
        return;
    }
    const std::size_t whole = m_held.size() - tagBeginAtEnd(m_held, closeTag);
    parts.reasoning += m_held.substr(0, whole);
    m_held.erase(0, whole);
}

void ThoughtSplitter::takeGap()
{
    m_held.erase(0, std::min(m_held.size(), m_held.find_first_not_of(blanks)));
    if (!m_held.empty())
        m_place = Place::Answer;
}

ThoughtSplitter::Parts ThoughtSplitter::finish()
{
    Parts parts;
    (m_place == Place::Thoughts ? parts.reasoning : parts.content) = std::move(m_held);
    m_held.clear();
    return parts;
}

} // namespace models
