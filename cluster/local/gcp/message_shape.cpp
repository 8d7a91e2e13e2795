#include "cluster/local/gcp/message_shape.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace cluster::local {

using nlohmann::json;

namespace {

using Kind = FieldShape::Kind;

/// "nodePools" is "node_pools" in paths.
std::string snakeCase(std::string_view name)
{
    std::string snake;
    for (const char c : name) {
        if (c >= 'A' && c <= 'Z') {
            snake += '_';
            snake += static_cast<char>(c - 'A' + 'a');
        } else {
            snake += c;
        }
    }
    return snake;
}

std::string words(const json &value)
{
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// A whole number, also as 3.0 or "3".
std::optional<std::int64_t> wholeNumber(const json &value)
{
    constexpr double limit = 9007199254740992.0; // beyond it a double doesn't hold each whole number
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
        return std::nullopt;
    if (value.is_number_integer())
        return value.get<std::int64_t>();
    if (value.is_number_float()) {
        const double number = value.get<double>();
        if (std::abs(number) > limit || std::trunc(number) != number)
            return std::nullopt;
        return static_cast<std::int64_t>(number);
    }
    if (!value.is_string())
        return std::nullopt;
    const auto &digits = value.get_ref<const std::string &>();
    const char *const end = digits.data() + digits.size();
    std::int64_t number = 0;
    const auto [rest, failure] = std::from_chars(digits.data(), end, number);
    return failure == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

std::optional<json> int32Of(const json &value)
{
    const auto number = wholeNumber(value);
    if (!number || *number < std::numeric_limits<std::int32_t>::min()
        || *number > std::numeric_limits<std::int32_t>::max())
        return std::nullopt;
    return json(*number);
}

std::optional<json> int64Of(const json &value)
{
    const auto number = wholeNumber(value);
    return number ? std::optional<json>(std::to_string(*number)) : std::nullopt;
}

std::optional<json> flagOf(const json &value)
{
    if (value.is_boolean())
        return value;
    if (value == "true" || value == "false")
        return json(value == "true");
    return std::nullopt;
}

/// By name, or by number: then as it is.
std::optional<json> enumOf(const json &value, const EnumShape &shape)
{
    if (value.is_number_integer())
        return value;
    const bool isOne = value.is_string()
        && std::any_of(shape.values.begin(), shape.values.end(),
                       [&](const char *name) { return value.get_ref<const std::string &>() == name; });
    return isOne ? std::optional(value) : std::nullopt;
}

/// One body on its way through its shape.
class Reader
{
public:
    explicit Reader(std::string_view package) : m_package(package) {}

    json message(const json &object, const MessageShape &shape, const std::string &path);
    [[nodiscard]] std::optional<GoogleError> error() const;
    void refuse(const std::string &path, const std::string &description)
    {
        m_violations.push_back({{"field", path}, {"description", description}});
    }

private:
    json field(const json &value, const FieldShape &shape, const MessageShape &owner,
               const std::string &parent);
    json one(const json &value, const FieldShape &shape, const std::string &path);
    json map(const json &value, const FieldShape &shape, const MessageShape &owner,
             const std::string &parent);
    void unknownName(const std::string &parent, const char *name, const std::string &why);
    void invalidValue(const std::string &path, const std::string &type, const std::string &value);
    [[nodiscard]] std::string typeOf(const FieldShape &shape) const;

    std::string_view m_package;
    json m_violations = json::array();
};

std::string joined(const std::string &parent, const char *name)
{
    return parent.empty() ? snakeCase(name) : parent + "." + snakeCase(name);
}

std::optional<json> scalarOf(const json &value, const FieldShape &shape)
{
    switch (shape.kind) {
    case Kind::Flag:
        return flagOf(value);
    case Kind::Int32:
        return int32Of(value);
    case Kind::Int64:
        return int64Of(value);
    case Kind::Enum:
        return enumOf(value, *shape.values);
    case Kind::Text:
    case Kind::Duration:
        return value.is_string() ? std::optional(value) : std::nullopt;
    case Kind::Message:
    case Kind::TextMap:
        break;
    }
    return std::nullopt;
}

std::string Reader::typeOf(const FieldShape &shape) const
{
    const std::string prefix = "type.googleapis.com/" + std::string(m_package) + ".";
    switch (shape.kind) {
    case Kind::Flag:
        return "TYPE_BOOL";
    case Kind::Int32:
        return "TYPE_INT32";
    case Kind::Int64:
        return "TYPE_INT64";
    case Kind::Enum:
        return prefix + shape.values->name;
    case Kind::Message:
        return prefix + shape.message->name;
    case Kind::Duration:
        return "type.googleapis.com/google.protobuf.Duration";
    case Kind::Text:
    case Kind::TextMap:
        break;
    }
    return "TYPE_STRING";
}

void Reader::invalidValue(const std::string &path, const std::string &type, const std::string &value)
{
    refuse(path, "Invalid value at '" + path + "' (" + type + "), " + value);
}

void Reader::unknownName(const std::string &parent, const char *name, const std::string &why)
{
    refuse(parent,
           "Invalid JSON payload received. Unknown name \"" + std::string(name) + "\""
               + (parent.empty() ? "" : " at '" + parent + "'") + ": " + why);
}

json Reader::one(const json &value, const FieldShape &shape, const std::string &path)
{
    const bool isMessage = shape.kind == Kind::Message;
    if (value.is_object()) {
        if (isMessage)
            return message(value, *shape.message, path);
        invalidValue(path, typeOf(shape), "Starting an object on a scalar field");
        return nullptr;
    }
    const auto read = scalarOf(value, shape);
    if (!read)
        invalidValue(path, typeOf(shape), words(value));
    return read.value_or(nullptr);
}

json Reader::map(const json &value, const FieldShape &shape, const MessageShape &owner,
                 const std::string &parent)
{
    const std::string path = joined(parent, shape.name);
    if (value.is_array()) {
        unknownName(parent, shape.name,
                    "Cannot bind a list to map for field '" + std::string(shape.name) + "'.");
        return nullptr;
    }
    if (!value.is_object()) {
        std::string entry = shape.name;
        entry.front() = static_cast<char>(entry.front() - 'a' + 'A');
        invalidValue(
            path, "type.googleapis.com/" + std::string(m_package) + "." + owner.name + "." + entry + "Entry",
            words(value));
        return nullptr;
    }
    std::size_t index = 0;
    for (const auto &[key, text] : value.items()) {
        const std::string place = path + "[" + std::to_string(index++) + "].value";
        if (text.is_object())
            invalidValue(place, "TYPE_STRING", "Starting an object on a scalar field");
        else if (!text.is_string())
            invalidValue(place, "TYPE_STRING", words(text));
    }
    return value;
}

json Reader::field(const json &value, const FieldShape &shape, const MessageShape &owner,
                   const std::string &parent)
{
    if (shape.kind == Kind::TextMap)
        return map(value, shape, owner, parent);
    const std::string path = joined(parent, shape.name);
    if (!value.is_array()) {
        json read = one(value, shape, path);
        return shape.isList ? json::array({std::move(read)}) : read;
    }
    if (!shape.isList) {
        unknownName(parent, shape.name, "Proto field is not repeating, cannot start list.");
        return nullptr;
    }
    json list = json::array();
    for (const json &element : value)
        list.push_back(one(element, shape, path + "[" + std::to_string(list.size()) + "]"));
    return list;
}

json Reader::message(const json &object, const MessageShape &shape, const std::string &path)
{
    json read = json::object();
    for (const auto &[name, value] : object.items()) {
        if (value.is_null())
            continue; // as if it were not there
        const auto known = std::find_if(
            shape.fields.begin(), shape.fields.end(),
            [&wanted = name](const FieldShape &candidate) { return candidate.name == wanted; });
        read[name] = known == shape.fields.end() ? value : field(value, *known, shape, path);
    }
    return read;
}

std::optional<GoogleError> Reader::error() const
{
    if (m_violations.empty())
        return std::nullopt;
    std::string message;
    for (const json &violation : m_violations)
        message += (message.empty() ? "" : "\n") + violation.at("description").get<std::string>();
    const json details
        = {{"@type", "type.googleapis.com/google.rpc.BadRequest"}, {"fieldViolations", m_violations}};
    return GoogleError{ErrorCode::InvalidArgument, std::move(message), json::array({details}), 0};
}

} // namespace

GoogleResult<json> readMessage(const json &body, const MessageShape &shape, std::string_view package)
{
    Reader reader(package);
    json read;
    if (body.is_object())
        read = reader.message(body, shape, {});
    else
        reader.refuse({},
                      "Invalid JSON payload received. Unknown name \"\": Root element must be a message.");
    if (auto error = reader.error())
        return tl::unexpected(std::move(*error));
    return read;
}

} // namespace cluster::local
