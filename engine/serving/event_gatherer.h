#pragma once

#include "engine/protocol/messages.h"
#include <optional>
#include <utility>

namespace engine {

/// Gathers events of one choice while there is no text to show yet, or while the client reads too slowly, so
/// that one chunk then holds several tokens and a slow reader costs no more than its text.
class EventGatherer
{
public:
    /// What is to be written now, if anything. Events with an end are never held back.
    std::optional<GenerationEvent> add(const GenerationEvent &event, bool mayWait)
    {
        if (!m_held) {
            m_held = event;
        } else {
            m_held->text += event.text;
            m_held->tokens.insert(m_held->tokens.end(), event.tokens.begin(), event.tokens.end());
            m_held->finish = event.finish;
            m_held->times = event.times;
        }
        if (!m_held->finish && (mayWait || m_held->text.empty()))
            return std::nullopt;
        return std::exchange(m_held, std::nullopt);
    }

private:
    std::optional<GenerationEvent> m_held;
};

} // namespace engine
