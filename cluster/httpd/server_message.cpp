#include "cluster/httpd/server_message.h"

#include <algorithm>

namespace cluster {

namespace {

char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool sameName(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

int hexValue(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    const char l = lower(c);
    return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

/// Whether a comma-separated list ("keep-alive, Upgrade") has this word.
bool listHas(std::string_view list, std::string_view word)
{
    while (!list.empty()) {
        const auto comma = list.find(',');
        auto item = list.substr(0, comma);
        list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
        while (!item.empty() && (item.front() == ' ' || item.front() == '\t'))
            item.remove_prefix(1);
        while (!item.empty() && (item.back() == ' ' || item.back() == '\t'))
            item.remove_suffix(1);
        if (sameName(item, word))
            return true;
    }
    return false;
}

} // namespace

std::optional<std::string_view> findHeader(const HeaderFields &fields, std::string_view name)
{
    for (const auto &[key, value] : fields) {
        if (sameName(key, name))
            return value;
    }
    return std::nullopt;
}

std::optional<std::string_view> ServerRequest::header(std::string_view name) const
{
    return findHeader(headers, name);
}

std::optional<std::string> ServerRequest::queryValue(std::string_view name) const
{
    for (const auto &[key, value] : query) {
        if (key == name)
            return value;
    }
    return std::nullopt;
}

std::vector<std::string> ServerRequest::queryValues(std::string_view name) const
{
    std::vector<std::string> values;
    for (const auto &[key, value] : query) {
        if (key == name)
            values.push_back(value);
    }
    return values;
}

bool ServerRequest::wantsUpgrade() const
{
    if (method == "CONNECT")
        return true;
    return header("upgrade").has_value()
        && std::any_of(headers.begin(), headers.end(), [](const auto &field) {
               return sameName(field.first, "connection") && listHas(field.second, "upgrade");
           });
}

std::optional<std::string> percentDecoded(std::string_view text, bool plusIsBlank)
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            if (i + 2 >= text.size())
                return std::nullopt;
            const int high = hexValue(text[i + 1]);
            const int low = hexValue(text[i + 2]);
            if (high < 0 || low < 0)
                return std::nullopt;
            out += static_cast<char>(high * 16 + low);
            i += 2;
        } else {
            out += text[i] == '+' && plusIsBlank ? ' ' : text[i];
        }
    }
    return out;
}

std::string urlEncoded(std::string_view text)
{
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const bool isLetter = lower(c) >= 'a' && lower(c) <= 'z';
        const bool isPlain
            = isLetter || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
        if (isPlain) {
            out += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out += '%';
            out += kHex[byte >> 4];
            out += kHex[byte & 15];
        }
    }
    return out;
}

} // namespace cluster
