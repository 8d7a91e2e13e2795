#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace engine {

/// Turns the bytes of tokens into text that is safe to show: whole UTF-8, and nothing that may yet turn out
/// to be the start of a stop string. Bytes that can't be UTF-8 become U+FFFD.
class TextStream
{
public:
    struct Piece
    {
        std::string text;
        std::optional<std::string>
            stop; ///< The stop string that ended the text; nothing may be pushed after it.
    };

    TextStream(std::vector<std::string> stops, bool includeStop)
        : m_stops(std::move(stops)), m_includeStop(includeStop)
    {
    }

    [[nodiscard]] Piece push(std::string_view bytes);
    /// Like push(), but stop strings mean nothing yet (min_tokens). What was pushed so is never searched
    /// later.
    [[nodiscard]] std::string pushUnsearched(std::string_view bytes);
    /// The rest, when the answer ends for another reason.
    [[nodiscard]] std::string flush();

private:
    [[nodiscard]] std::size_t heldForStop() const;

    std::vector<std::string> m_stops;
    bool m_includeStop;
    std::string m_held;
};

/// Takes the leading whole characters off `bytes`; broken ones become U+FFFD. An unfinished character at the
/// end stays, unless it is `final`.
[[nodiscard]] std::string takeWholeUtf8(std::string &bytes, std::size_t limit, bool final);

} // namespace engine
