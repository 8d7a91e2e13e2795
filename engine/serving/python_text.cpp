#include "engine/serving/python_text.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace engine {

std::string pythonFloat(double value)
{
    if (std::isnan(value))
        return "nan";
    if (std::isinf(value))
        return value > 0 ? "inf" : "-inf";
    const double magnitude = std::fabs(value);
    const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
    char text[512];
    const auto end = std::to_chars(text, text + sizeof text, value,
                                   plain ? std::chars_format::fixed : std::chars_format::scientific);
    std::string shown(text, end.ptr);
    if (plain && shown.find('.') == std::string::npos)
        shown += ".0";
    return shown;
}

std::string pythonRepr(std::string_view text)
{
    const bool doubled
        = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
    const char quote = doubled ? '"' : '\'';
    std::string shown(1, quote);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == quote || c == '\\') {
            shown += '\\';
            shown += c;
        } else if (c == '\n') {
            shown += "\\n";
        } else if (c == '\r') {
            shown += "\\r";
        } else if (c == '\t') {
            shown += "\\t";
        } else if (byte < 0x20 || byte == 0x7f) {
            static const char digits[] = "0123456789abcdef";
            shown += "\\x";
            shown += digits[byte >> 4];
            shown += digits[byte & 15];
        } else {
            shown += c;
        }
    }
    return shown + quote;
}

std::string pythonRepr(const nlohmann::ordered_json &value)
{
    using Type = nlohmann::ordered_json::value_t;
    switch (value.type()) {
    case Type::null:
    case Type::discarded:
        return "None";
    case Type::boolean:
        return value.get<bool>() ? "True" : "False";
    case Type::string:
        return pythonRepr(std::string_view(value.get_ref<const std::string &>()));
    case Type::number_float:
        return pythonFloat(value.get<double>());
    case Type::number_integer:
    case Type::number_unsigned:
    case Type::binary:
        return value.dump();
    case Type::array: {
        std::string text;
        for (const auto &item : value)
            text += (text.empty() ? "" : ", ") + pythonRepr(item);
        return "[" + text + "]";
    }
    case Type::object: {
        std::string text;
        for (const auto &[key, item] : value.items())
            text += (text.empty() ? "" : ", ") + pythonRepr(std::string_view(key)) + ": " + pythonRepr(item);
        return "{" + text + "}";
    }
    }
    return "None";
}

namespace {

/// Walks JSON as Python's decoder does, without recursion.
class JsonScanner
{
public:
    JsonScanner(std::string_view text, int maxDepth)
        : m_text(text), m_maxDepth(static_cast<std::size_t>(maxDepth))
    {
    }

    std::optional<JsonSyntaxError> scan()
    {
        skipSpace();
        bool wantValue = true;
        for (;;) {
            if (wantValue && !value())
                return m_error;
            wantValue = false;
            if (m_opened) { // an object or array began: its first member
                m_opened = false;
                if (!firstMember(wantValue))
                    return m_error;
                continue;
            }
            skipSpace();
            if (m_stack.empty())
                return m_at == m_text.size() ? std::nullopt : fail("Extra data", m_at);
            if (!nextMember(wantValue))
                return m_error;
        }
    }

private:
    bool value()
    {
        const char c = peek();
        if (c == '"')
            return string();
        if (c == '{' || c == '[') {
            if (m_stack.size() >= m_maxDepth)
                return refuse("Nested too deep", m_at);
            m_stack.push_back(c);
            ++m_at;
            m_opened = true;
            return true;
        }
        for (const std::string_view word : {"null", "true", "false", "NaN", "Infinity", "-Infinity"}) {
            if (m_text.substr(m_at, word.size()) == word) {
                m_at += word.size();
                return true;
            }
        }
        return number();
    }

    bool number()
    {
        std::size_t at = m_at;
        if (at < m_text.size() && m_text[at] == '-')
            ++at;
        const std::size_t digits = at;
        while (at < m_text.size() && isDigit(m_text[at]) && !(at > digits && m_text[digits] == '0'))
            ++at;
        if (at == digits)
            return refuse("Expecting value", m_at);
        if (at + 1 < m_text.size() && m_text[at] == '.' && isDigit(m_text[at + 1])) {
            ++at;
            while (at < m_text.size() && isDigit(m_text[at]))
                ++at;
        }
        if (at < m_text.size() && (m_text[at] == 'e' || m_text[at] == 'E')) {
            std::size_t exponent = at + 1;
            if (exponent < m_text.size() && (m_text[exponent] == '+' || m_text[exponent] == '-'))
                ++exponent;
            if (exponent < m_text.size() && isDigit(m_text[exponent])) {
                at = exponent;
                while (at < m_text.size() && isDigit(m_text[at]))
                    ++at;
            }
        }
        m_at = at;
        return true;
    }

    bool string()
    {
        const std::size_t start = m_at++;
        while (m_at < m_text.size()) {
            const char c = m_text[m_at];
            if (c == '"') {
                ++m_at;
                return true;
            }
            if (static_cast<unsigned char>(c) < 0x20)
                return refuse("Invalid control character at", m_at);
            if (c != '\\') {
                ++m_at;
                continue;
            }
            if (m_at + 1 >= m_text.size())
                break;
            const char escaped = m_text[m_at + 1];
            if (escaped == 'u') {
                for (std::size_t i = 2; i < 6; ++i) {
                    if (m_at + i >= m_text.size() || !isHex(m_text[m_at + i]))
                        return refuse("Invalid \\uXXXX escape", m_at + 1);
                }
                m_at += 6;
            } else if (std::string_view("\"\\/bfnrt").find(escaped) != std::string_view::npos) {
                m_at += 2;
            } else {
                return refuse("Invalid \\escape", m_at);
            }
        }
        return refuse("Unterminated string starting at", start);
    }

    bool key()
    {
        if (peek() != '"')
            return refuse("Expecting property name enclosed in double quotes", m_at);
        if (!string())
            return false;
        skipSpace();
        if (peek() != ':')
            return refuse("Expecting ':' delimiter", m_at);
        ++m_at;
        skipSpace();
        return true;
    }

    bool firstMember(bool &wantValue)
    {
        skipSpace();
        const bool object = m_stack.back() == '{';
        if (peek() == (object ? '}' : ']')) {
            ++m_at;
            m_stack.pop_back();
            return true;
        }
        wantValue = true;
        return !object || key();
    }

    bool nextMember(bool &wantValue)
    {
        const bool object = m_stack.back() == '{';
        if (peek() == (object ? '}' : ']')) {
            ++m_at;
            m_stack.pop_back();
            return true;
        }
        if (peek() != ',')
            return refuse("Expecting ',' delimiter", m_at);
        ++m_at;
        skipSpace();
        wantValue = true;
        return !object || key();
    }

    static bool isDigit(char c) { return c >= '0' && c <= '9'; }
    static bool isHex(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
    char peek() const { return m_at < m_text.size() ? m_text[m_at] : '\0'; }

    void skipSpace()
    {
        while (m_at < m_text.size()
               && std::string_view(" \t\r\n").find(m_text[m_at]) != std::string_view::npos)
            ++m_at;
    }

    bool refuse(std::string message, std::size_t at)
    {
        fail(std::move(message), at);
        return false;
    }

    std::optional<JsonSyntaxError> fail(std::string message, std::size_t at)
    {
        std::size_t characters = 0;
        for (const char c : m_text.substr(0, at))
            characters += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
        m_error = JsonSyntaxError{characters, std::move(message)};
        return m_error;
    }

    std::string_view m_text;
    std::size_t m_maxDepth;
    std::size_t m_at = 0;
    std::vector<char> m_stack;
    bool m_opened = false;
    std::optional<JsonSyntaxError> m_error;
};

} // namespace

std::optional<JsonSyntaxError> findJsonError(std::string_view text, int maxDepth)
{
    return JsonScanner(text, maxDepth).scan();
}

} // namespace engine
