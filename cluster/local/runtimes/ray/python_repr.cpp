#include "cluster/local/runtimes/ray/python_repr.h"

namespace cluster::local {

using Value = nlohmann::ordered_json;

namespace {

/// Enough of it: what is cut in the middle needs no more, and a hostile value may be huge.
constexpr std::size_t enough = 4096;

void appendText(std::string &out, const std::string &text)
{
    const char quote
        = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
    out += quote;
    for (const char c : text) {
        if (c == '\\' || c == quote)
            out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    out += quote;
}

void append(std::string &out, const Value &value, int depth);

void appendItems(std::string &out, const Value &value, int depth)
{
    const bool isObject = value.is_object();
    out += isObject ? '{' : '[';
    bool isFirst = true;
    for (auto item = value.begin(); item != value.end() && out.size() < enough; ++item) {
        if (!isFirst)
            out += ", ";
        isFirst = false;
        if (isObject) {
            appendText(out, item.key());
            out += ": ";
        }
        append(out, *item, depth + 1);
    }
    out += isObject ? '}' : ']';
}

void append(std::string &out, const Value &value, int depth)
{
    if (value.is_structured())
        depth > 50 ? void(out += "...") : appendItems(out, value, depth);
    else if (value.is_string())
        appendText(out, value.get_ref<const std::string &>());
    else if (value.is_boolean())
        out += value.get<bool>() ? "True" : "False";
    else
        out += value.is_null() ? "None" : value.dump();
}

} // namespace

std::string pydanticInput(const Value &value)
{
    std::string text;
    append(text, value, 0);
    constexpr std::size_t most = 50, head = 25, tail = 24;
    if (text.size() > most)
        text = text.substr(0, head) + "..." + text.substr(text.size() - tail);
    return text;
}

std::string pythonType(const Value &value)
{
    if (value.is_object())
        return "dict";
    if (value.is_array())
        return "list";
    if (value.is_string())
        return "str";
    if (value.is_boolean())
        return "bool";
    if (value.is_null())
        return "NoneType";
    return value.is_number_float() ? "float" : "int";
}

} // namespace cluster::local
