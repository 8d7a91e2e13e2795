#include "engine/serving/field_reader.h"

#include "engine/serving/python_text.h"
#include <charconv>
#include <cmath>

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

std::string trimmed(const std::string &text)
{
    const auto first = text.find_first_not_of(" \t\r\n");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

constexpr double kInt64End = 9223372036854775807.0;

bool beyondInt64(const Json &value)
{
    if (value.is_number_unsigned())
        return value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
    return value.is_number_float() && value.get<double>() >= kInt64End;
}

std::optional<bool> toBoolean(const Json &value, FieldIssue &issue)
{
    if (value.is_boolean())
        return value.get<bool>();
    std::string word = value.is_string() ? value.get<std::string>() : value.is_number() ? value.dump() : "";
    for (char &c : word)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    for (const char *yes : {"1", "1.0", "true", "t", "yes", "y", "on"}) {
        if (word == yes)
            return true;
    }
    for (const char *no : {"0", "0.0", "false", "f", "no", "n", "off"}) {
        if (word == no)
            return false;
    }
    const bool readable = value.is_string() || value.is_number();
    issue.type = readable ? "bool_parsing" : "bool_type";
    issue.message = readable ? "Input should be a valid boolean, unable to interpret input"
                             : "Input should be a valid boolean";
    return std::nullopt;
}

} // namespace

FieldReader::FieldReader(const Json &object, std::vector<LocationPart> prefix)
    : m_object(object), m_prefix(std::move(prefix))
{
}

const Json *FieldReader::find(const char *name) const
{
    const auto found = m_object.find(name);
    return found == m_object.end() || found->is_null() ? nullptr : &*found;
}

bool FieldReader::has(const char *name) const
{
    return m_object.contains(name);
}

std::vector<LocationPart> FieldReader::at(const std::string &name) const
{
    std::vector<LocationPart> place = m_prefix;
    place.push_back({name, false, false});
    return place;
}

void FieldReader::missing(const char *name)
{
    add({"missing", at(name), "Field required", m_object, {}});
}

void FieldReader::add(FieldIssue issue)
{
    m_issues.push_back(std::move(issue));
}

std::optional<std::int64_t> FieldReader::toInteger(const Json &value, FieldIssue &issue)
{
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
        return std::numeric_limits<std::int64_t>::max();
    if (value.is_number_integer())
        return value.get<std::int64_t>();
    if (value.is_boolean())
        return value.get<bool>() ? 1 : 0;
    if (value.is_number_float()) {
        const double number = value.get<double>();
        if (std::floor(number) == number && std::fabs(number) < kInt64End)
            return static_cast<std::int64_t>(number);
        if (std::fabs(number) >= kInt64End) // written as an integer, but longer than any
            return number > 0 ? INT64_MAX : INT64_MIN;
        issue.type = "int_from_float";
        issue.message = "Input should be a valid integer, got a number with a fractional part";
        return std::nullopt;
    }
    if (!value.is_string()) {
        issue.type = "int_type";
        issue.message = "Input should be a valid integer";
        return std::nullopt;
    }
    std::string text = trimmed(value.get<std::string>());
    if (const auto dot = text.find('.');
        dot != std::string::npos && dot > 0 && text.find_first_not_of('0', dot + 1) == std::string::npos)
        text.erase(dot);
    if (!text.empty() && text.front() == '+')
        text.erase(0, 1);
    std::int64_t number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end.ec == std::errc() && end.ptr == text.data() + text.size() && !text.empty())
        return number;
    issue.type = "int_parsing";
    issue.message = "Input should be a valid integer, unable to parse string as an integer";
    return std::nullopt;
}

std::optional<double> FieldReader::toNumber(const Json &value, FieldIssue &issue)
{
    if (value.is_number())
        return value.get<double>();
    if (value.is_boolean())
        return value.get<bool>() ? 1.0 : 0.0;
    if (!value.is_string()) {
        issue.type = "float_type";
        issue.message = "Input should be a valid number";
        return std::nullopt;
    }
    const std::string text = trimmed(value.get<std::string>());
    double number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end.ec == std::errc() && end.ptr == text.data() + text.size() && !text.empty())
        return number;
    issue.type = "float_parsing";
    issue.message = "Input should be a valid number, unable to parse string as a number";
    return std::nullopt;
}

std::optional<std::int64_t> FieldReader::integer(const char *name, std::int64_t least, std::int64_t most)
{
    const Json *value = find(name);
    if (!value)
        return std::nullopt;
    FieldIssue issue{{}, at(name), {}, *value, {}};
    auto number = toInteger(*value, issue);
    if (number && *number < least) {
        issue.type = "greater_than_equal";
        issue.message = "Input should be greater than or equal to " + std::to_string(least);
        issue.context = "{'ge': " + std::to_string(least) + "}";
        number.reset();
    } else if (number && (*number > most || beyondInt64(*value))) {
        issue.type = "less_than_equal";
        issue.message = "Input should be less than or equal to " + std::to_string(most);
        issue.context = "{'le': " + std::to_string(most) + "}";
        number.reset();
    }
    if (!number)
        add(std::move(issue));
    return number;
}

std::optional<double> FieldReader::number(const char *name)
{
    const Json *value = find(name);
    if (!value)
        return std::nullopt;
    FieldIssue issue{{}, at(name), {}, *value, {}};
    const auto number = toNumber(*value, issue);
    if (!number)
        add(std::move(issue));
    return number;
}

std::optional<bool> FieldReader::boolean(const char *name)
{
    const Json *value = find(name);
    if (!value)
        return std::nullopt;
    FieldIssue issue{{}, at(name), {}, *value, {}};
    const auto truth = toBoolean(*value, issue);
    if (!truth)
        add(std::move(issue));
    return truth;
}

std::optional<std::string> FieldReader::string(const char *name)
{
    const Json *value = find(name);
    if (!value)
        return std::nullopt;
    if (value->is_string())
        return value->get<std::string>();
    add({"string_type", at(name), "Input should be a valid string", *value, {}});
    return std::nullopt;
}

std::optional<std::vector<std::string>> FieldReader::stringList(const char *name)
{
    const Json *list = array(name);
    if (!list)
        return std::nullopt;
    std::vector<std::string> words;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const Json &item = (*list)[i];
        if (item.is_string()) {
            words.push_back(item.get<std::string>());
            continue;
        }
        auto place = at(name);
        place.push_back({std::to_string(i), true, false});
        add({"string_type", place, "Input should be a valid string", item, {}});
    }
    return words;
}

std::optional<std::vector<std::string>> FieldReader::stringOrList(const char *name, std::size_t mostItems)
{
    const Json *value = find(name);
    if (!value)
        return std::nullopt;
    if (value->is_string())
        return std::vector<std::string>{value->get<std::string>()};
    auto asString = at(name);
    asString.push_back({"str", false, true});
    auto asList = at(name);
    asList.push_back({"list[str]", false, true});
    std::vector<FieldIssue> wrong{{"string_type", asString, "Input should be a valid string", *value, {}}};
    std::vector<std::string> words;
    if (!value->is_array()) {
        wrong.push_back({"list_type", asList, "Input should be a valid list", *value, {}});
    } else if (value->size() > mostItems) {
        const std::string most = std::to_string(mostItems);
        const std::string count = std::to_string(value->size());
        wrong.push_back(
            {"too_long", asList, "List should have at most " + most + " items after validation, not " + count,
             *value, "{'field_type': 'List', 'max_length': " + most + ", 'actual_length': " + count + "}"});
    } else {
        for (std::size_t i = 0; i < value->size(); ++i) {
            const Json &item = (*value)[i];
            if (item.is_string()) {
                words.push_back(item.get<std::string>());
                continue;
            }
            auto place = asList;
            place.push_back({std::to_string(i), true, false});
            wrong.push_back({"string_type", place, "Input should be a valid string", item, {}});
        }
        if (wrong.size() == 1)
            return words;
    }
    for (FieldIssue &issue : wrong)
        add(std::move(issue));
    return std::nullopt;
}

std::optional<std::vector<std::int64_t>> FieldReader::integerList(const char *name)
{
    const Json *list = array(name);
    if (!list)
        return std::nullopt;
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < list->size(); ++i) {
        auto place = at(name);
        place.push_back({std::to_string(i), true, false});
        FieldIssue issue{{}, place, {}, (*list)[i], {}};
        if (const auto number = toInteger((*list)[i], issue))
            numbers.push_back(*number);
        else
            add(std::move(issue));
    }
    return numbers;
}

const Json *FieldReader::object(const char *name)
{
    const Json *value = find(name);
    if (value && !value->is_object()) {
        add({"dict_type", at(name), "Input should be a valid dictionary", *value, {}});
        return nullptr;
    }
    return value;
}

const Json *FieldReader::array(const char *name)
{
    const Json *value = find(name);
    if (value && !value->is_array()) {
        add({"list_type", at(name), "Input should be a valid list", *value, {}});
        return nullptr;
    }
    return value;
}

} // namespace engine
