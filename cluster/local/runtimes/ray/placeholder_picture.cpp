#include "cluster/local/runtimes/ray/placeholder_picture.h"

#include "cluster/local/runtimes/ray/png_image.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <iterator>

namespace cluster::local {

namespace {

struct Glyph
{
    char character;
    std::array<std::uint8_t, 7> rows; ///< from the top; five dots each, the left one is 16
};

constexpr Glyph glyphs[] = {
    {'A', {14, 17, 17, 31, 17, 17, 17}}, {'B', {30, 17, 17, 30, 17, 17, 30}},
    {'C', {14, 17, 16, 16, 16, 17, 14}}, {'D', {30, 17, 17, 17, 17, 17, 30}},
    {'E', {31, 16, 16, 30, 16, 16, 31}}, {'F', {31, 16, 16, 30, 16, 16, 16}},
    {'G', {14, 17, 16, 23, 17, 17, 14}}, {'H', {17, 17, 17, 31, 17, 17, 17}},
    {'I', {14, 4, 4, 4, 4, 4, 14}},      {'J', {7, 2, 2, 2, 2, 18, 12}},
    {'K', {17, 18, 20, 24, 20, 18, 17}}, {'L', {16, 16, 16, 16, 16, 16, 31}},
    {'M', {17, 27, 21, 21, 17, 17, 17}}, {'N', {17, 25, 21, 19, 17, 17, 17}},
    {'O', {14, 17, 17, 17, 17, 17, 14}}, {'P', {30, 17, 17, 30, 16, 16, 16}},
    {'Q', {14, 17, 17, 17, 21, 18, 13}}, {'R', {30, 17, 17, 30, 20, 18, 17}},
    {'S', {15, 16, 16, 14, 1, 1, 30}},   {'T', {31, 4, 4, 4, 4, 4, 4}},
    {'U', {17, 17, 17, 17, 17, 17, 14}}, {'V', {17, 17, 17, 17, 17, 10, 4}},
    {'W', {17, 17, 17, 21, 21, 27, 17}}, {'X', {17, 17, 10, 4, 10, 17, 17}},
    {'Y', {17, 17, 10, 4, 4, 4, 4}},     {'Z', {31, 1, 2, 4, 8, 16, 31}},
    {'0', {14, 17, 19, 21, 25, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},
    {'2', {14, 17, 1, 6, 8, 16, 31}},    {'3', {14, 17, 1, 6, 1, 17, 14}},
    {'4', {2, 6, 10, 18, 31, 2, 2}},     {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},   {'7', {31, 1, 2, 4, 8, 8, 8}},
    {'8', {14, 17, 17, 14, 17, 17, 14}}, {'9', {14, 17, 17, 15, 1, 2, 12}},
    {'.', {0, 0, 0, 0, 0, 12, 12}},      {',', {0, 0, 0, 0, 6, 4, 8}},
    {'!', {4, 4, 4, 4, 4, 0, 4}},        {'?', {14, 17, 1, 6, 4, 0, 4}},
    {'-', {0, 0, 0, 31, 0, 0, 0}},       {':', {0, 12, 12, 0, 12, 12, 0}},
    {'\'', {4, 4, 8, 0, 0, 0, 0}},       {'(', {2, 4, 8, 8, 8, 4, 2}},
    {')', {8, 4, 2, 2, 2, 4, 8}},        {'/', {0, 1, 2, 4, 8, 16, 0}},
    {'+', {0, 4, 4, 31, 4, 4, 0}},
};

constexpr int glyphWidth = 6, glyphHeight = 9; ///< dots, with the gap to the next one

/// What is not known is a box, as fonts do it.
std::array<std::uint8_t, 7> rowsOf(char character)
{
    if (character == ' ')
        return {};
    const auto found = std::find_if(std::begin(glyphs), std::end(glyphs),
                                    [character](const Glyph &glyph) { return glyph.character == character; });
    return found == std::end(glyphs) ? std::array<std::uint8_t, 7>{31, 17, 17, 17, 17, 17, 31} : found->rows;
}

/// Upper case, one character for each code point, blanks for control characters.
std::string drawable(const std::string &text)
{
    std::string shown;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xC0) == 0x80)
            continue; // a further byte of the same code point
        shown += byte >= 0x80 ? '\x7F' : byte < 0x20 ? ' ' : static_cast<char>(std::toupper(byte));
    }
    return shown;
}

/// Broken at blanks where that fits, into at most `lines` lines.
std::string wrapped(const std::string &text, std::size_t columns, std::size_t lines)
{
    std::string result, rest = text;
    for (std::size_t line = 0; line < lines && !rest.empty(); ++line) {
        std::size_t length = std::min(columns, rest.size());
        if (length < rest.size()) {
            const std::size_t blank = rest.rfind(' ', length);
            length = blank == std::string::npos || blank == 0 ? length : blank;
        }
        result += (line > 0 ? "\n" : "") + rest.substr(0, length);
        rest.erase(0, std::min(rest.size(), length + (length < rest.size() && rest[length] == ' ' ? 1 : 0)));
    }
    return result;
}

void draw(RgbImage &image, const std::string &text, int left, int top, int dot, Rgb colour)
{
    int x = left, y = top;
    for (const char c : text) {
        if (c == '\n') {
            x = left;
            y += glyphHeight * dot;
            continue;
        }
        const auto rows = rowsOf(c);
        for (int row = 0; row < 7; ++row) {
            for (int column = 0; column < 5; ++column) {
                if ((rows[static_cast<std::size_t>(row)] >> (4 - column)) & 1)
                    image.fill(x + column * dot, y + row * dot, x + (column + 1) * dot, y + (row + 1) * dot,
                               colour);
            }
        }
        x += glyphWidth * dot;
    }
}

} // namespace

std::string placeholderPicture(const std::string &prompt, int size)
{
    RgbImage image(size, size);
    const auto hash = std::hash<std::string>()(prompt);
    const auto part = [hash](int shift) { return static_cast<int>((hash >> shift) & 0x7F); };
    for (int y = 0; y < size; ++y) {
        const auto shade = [y, size](int from, int to) {
            return static_cast<std::uint8_t>(40 + from + (to - from) * y / size);
        };
        image.fill(0, y, size, y + 1,
                   {shade(part(0), part(8)), shade(part(16), part(24)), shade(part(32), part(40))});
    }
    const Rgb white{255, 255, 255}, black{0, 0, 0};
    const int margin = size / 16;
    const int dot = std::max(1, size / 170), small = std::max(1, size / 256);
    const auto columns = [&](int of) {
        return static_cast<std::size_t>(std::max(1, (size - 2 * margin) / (glyphWidth * of)));
    };
    const std::string notice = wrapped("PLACEHOLDER BY SLIPWAY: NO IMAGE MODEL RAN", columns(small), 6);
    const int noticeLines = 1 + static_cast<int>(std::count(notice.begin(), notice.end(), '\n'));
    const int noticeTop = size - margin / 2 - noticeLines * glyphHeight * small;
    const int room = (noticeTop - 2 * margin) / (glyphHeight * dot);
    draw(image, wrapped(drawable(prompt), columns(dot), static_cast<std::size_t>(std::max(1, room))), margin,
         margin, dot, white);
    image.fill(0, noticeTop - small * 2, size, size, white);
    draw(image, notice, margin, noticeTop, small, black);
    return pngBytes(image,
                    {{"Software", "slipway-ray, a placeholder: no image model ran"},
                     {"Description", drawable(prompt).substr(0, 2000)}});
}

} // namespace cluster::local
