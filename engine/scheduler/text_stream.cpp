#include "engine/scheduler/text_stream.h"

#include <algorithm>

namespace engine {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

struct Utf8Step
{
    std::size_t length = 0; ///< Bytes to go on by; of a broken character the part that belongs together.
    bool valid = false;
    bool unfinished = false; ///< Right so far, but the text ends within the character.
};

// The second byte is bounded more narrowly: no overlong forms, no surrogates, nothing above U+10FFFF.
Utf8Step stepAt(std::string_view text, std::size_t at)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80)
        return {1, true, false};
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4)
        return {1, false, false};
    for (std::size_t i = 1; i < length; ++i) {
        if (at + i >= text.size())
            return {i, false, true};
        unsigned char low = 0x80;
        unsigned char high = 0xBF;
        if (i == 1) {
            low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : low;
            high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : high;
        }
        if (byte(i) < low || byte(i) > high)
            return {i, false, false};
    }
    return {length, true, false};
}

} // namespace

std::string takeWholeUtf8(std::string &bytes, std::size_t limit, bool final)
{
    std::string text;
    std::size_t at = 0;
    while (at < limit) {
        const Utf8Step step = stepAt(bytes, at);
        if (step.unfinished && !final)
            break;
        if (step.valid && at + step.length > limit)
            break;
        if (step.valid)
            text.append(bytes, at, step.length);
        else
            text += replacement;
        at += step.length;
    }
    bytes.erase(0, at);
    return text;
}

std::size_t TextStream::heldForStop() const
{
    std::size_t longest = 0;
    for (const std::string &stop : m_stops) {
        for (std::size_t length = std::min(stop.size() - 1, m_held.size()); length > longest; --length) {
            if (m_held.compare(m_held.size() - length, length, stop, 0, length) == 0)
                longest = length;
        }
    }
    return longest;
}

TextStream::Piece TextStream::push(std::string_view bytes)
{
    m_held += bytes;
    std::size_t first = std::string::npos;
    const std::string *found = nullptr;
    for (const std::string &stop : m_stops) {
        const std::size_t at = m_held.find(stop);
        if (at < first) {
            first = at;
            found = &stop;
        }
    }
    if (found == nullptr)
        return {takeWholeUtf8(m_held, m_held.size() - heldForStop(), false), std::nullopt};
    m_held.resize(m_includeStop ? first + found->size() : first);
    return {takeWholeUtf8(m_held, m_held.size(), true), *found};
}

std::string TextStream::pushUnsearched(std::string_view bytes)
{
    m_held += bytes;
    return takeWholeUtf8(m_held, m_held.size(), false);
}

std::string TextStream::flush()
{
    return takeWholeUtf8(m_held, m_held.size(), true);
}

} // namespace engine
