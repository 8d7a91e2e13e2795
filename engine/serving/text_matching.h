#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace engine {

/// Length of the longest end of the text that is a true beginning of the word: what must be held back because
/// the next piece may complete the word.
[[nodiscard]] inline std::size_t partialMatch(std::string_view text, std::string_view word)
{
    for (std::size_t size = std::min(text.size(), word.size() - 1); size > 0; --size) {
        if (text.substr(text.size() - size) == word.substr(0, size))
            return size;
    }
    return 0;
}

} // namespace engine
