#include "engine/runtime/regex_grammar.h"

#include <array>
#include <cctype>

namespace engine {

using cluster::ErrorCode;
using cluster::fail;

namespace {

constexpr int maxDepth = 64; ///< The parser recurses.

struct RegexError
{
    std::string what;
};

std::string hex(unsigned char byte)
{
    constexpr std::array digits{'0', '1', '2', '3', '4', '5', '6', '7',
                                '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'};
    return {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
}

/// One character as GBNF writes it, within a literal or a class.
std::string escaped(char c)
{
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    case '"':
    case '\\':
    case '[':
    case ']':
    case '-':
    case '^':
        return hex(byte);
    default:
        return byte < 0x20 || byte == 0x7F ? hex(byte) : std::string(1, c);
    }
}

class RegexParser
{
public:
    explicit RegexParser(std::string_view text) : m_text(text)
    {
        if (!m_text.empty() && m_text.front() == '^')
            ++m_at;
        if (m_text.size() > m_at && m_text.back() == '$' && !isEscaped(m_text.size() - 1))
            m_text.remove_suffix(1);
    }

    std::string parse()
    {
        std::string grammar = alternatives(0);
        if (m_at < m_text.size())
            error("unmatched )");
        return grammar;
    }

private:
    [[noreturn]] void error(const std::string &what) const
    {
        throw RegexError{what + " at position " + std::to_string(m_at)};
    }
    [[nodiscard]] bool isEscaped(std::size_t at) const
    {
        std::size_t slashes = 0;
        while (slashes < at && m_text[at - 1 - slashes] == '\\')
            ++slashes;
        return slashes % 2 == 1;
    }
    [[nodiscard]] bool done() const { return m_at >= m_text.size(); }
    [[nodiscard]] char peek() const { return m_text[m_at]; }
    char take()
    {
        if (done())
            error("unexpected end");
        return m_text[m_at++];
    }

    std::string alternatives(int depth)
    {
        if (depth > maxDepth)
            error("groups nested too deeply");
        std::string result = sequence(depth);
        while (!done() && peek() == '|') {
            ++m_at;
            result += " | " + sequence(depth);
        }
        return result;
    }

    std::string sequence(int depth)
    {
        std::string result;
        while (!done() && peek() != '|' && peek() != ')') {
            const std::string one = repeated(atom(depth));
            result += (result.empty() ? "" : " ") + one;
        }
        return result.empty() ? "\"\"" : result;
    }

    std::string atom(int depth)
    {
        const char c = take();
        switch (c) {
        case '(':
            return group(depth);
        case '[':
            return characterClass();
        case '.':
            return "[^\\n]";
        case '\\':
            return escape();
        case '*':
        case '+':
        case '?':
            --m_at;
            error("nothing to repeat");
        case '^':
        case '$':
            --m_at;
            error("an anchor inside of the expression is not supported");
        default:
            return literal(c);
        }
    }

    // A character beyond ASCII is several bytes that repeat together.
    std::string literal(char first)
    {
        std::string bytes(1, first);
        while ((static_cast<unsigned char>(first) & 0x80U) != 0 && !done()
               && (static_cast<unsigned char>(peek()) & 0xC0U) == 0x80U)
            bytes += take();
        return grammarLiteral(bytes);
    }

    std::string group(int depth)
    {
        if (!done() && peek() == '?') {
            ++m_at;
            if (take() != ':')
                error("look-around, named groups and flags are not supported");
        }
        std::string inner = alternatives(depth + 1);
        if (done())
            error("missing )");
        ++m_at;
        return "(" + inner + ")";
    }

    static std::string shorthand(char c)
    {
        switch (c) {
        case 'd':
        case 'D':
            return "0-9";
        case 'w':
        case 'W':
            return "a-zA-Z0-9_";
        case 's':
        case 'S':
            return " \\t\\n\\r";
        default:
            return {};
        }
    }

    static std::string controlEscape(char c)
    {
        switch (c) {
        case 'n':
            return "\n";
        case 't':
            return "\t";
        case 'r':
            return "\r";
        case 'f':
            return "\f";
        case 'v':
            return "\v";
        default:
            return {};
        }
    }

    std::string escape()
    {
        const char c = take();
        if (const std::string set = shorthand(c); !set.empty())
            return std::isupper(static_cast<unsigned char>(c)) != 0 ? "[^" + set + "]" : "[" + set + "]";
        if (const std::string control = controlEscape(c); !control.empty())
            return grammarLiteral(control);
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
            --m_at;
            error(std::string("\\") + c + " is not supported");
        }
        return grammarLiteral(std::string(1, c));
    }

    std::string characterClass()
    {
        std::string set = "[";
        if (!done() && peek() == '^') {
            set += '^';
            ++m_at;
        }
        for (bool first = true; first || done() || peek() != ']'; first = false) {
            char c = take();
            if (c == '\\') {
                c = take();
                if (std::isupper(static_cast<unsigned char>(c)) != 0)
                    error("negated shorthands inside of a class are not supported");
                const std::string known = shorthand(c);
                const std::string control = controlEscape(c);
                set += !known.empty() ? known : escaped(control.empty() ? c : control[0]);
            } else if (c == '-' && !first && !done() && peek() != ']') {
                set += '-';
            } else {
                set += escaped(c);
            }
        }
        ++m_at;
        return set + "]";
    }

    std::string repeated(std::string what)
    {
        while (!done()) {
            const char c = peek();
            if (c == '*' || c == '+' || c == '?') {
                ++m_at;
                what += c;
            } else if (c == '{' && m_at + 1 < m_text.size()
                       && std::isdigit(static_cast<unsigned char>(m_text[m_at + 1])) != 0) {
                what += bounds();
            } else {
                break;
            }
            if (!done() && peek() == '?') // lazy: the same texts match
                ++m_at;
            if (!done() && (peek() == '*' || peek() == '+' || peek() == '?'))
                error("multiple repeat");
        }
        return what;
    }

    std::string bounds()
    {
        std::string text;
        for (char c = take(); c != '}'; c = take()) {
            if (c != '{' && c != ',' && std::isdigit(static_cast<unsigned char>(c)) == 0)
                error("malformed repetition");
            text += c;
        }
        return text + "}";
    }

    std::string_view m_text;
    std::size_t m_at = 0;
};

} // namespace

std::string grammarLiteral(std::string_view text)
{
    std::string result = "\"";
    for (const char c : text)
        result += escaped(c);
    return result + '"';
}

cluster::Result<std::string> regexToGrammar(std::string_view regex)
{
    try {
        return "root ::= " + RegexParser(regex).parse() + "\n";
    } catch (const RegexError &error) {
        return fail(ErrorCode::InvalidArgument, "the regular expression can't be used: " + error.what);
    }
}

} // namespace engine
