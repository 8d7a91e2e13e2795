#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

// Reading of objects that others wrote: a field that is missing or of another type is its fallback, never an
// exception. (The API server has checked pods; nothing here depends on it.)
namespace cluster::local {

/// The field, or a null value.
inline const nlohmann::json &fieldOf(const nlohmann::json &object, std::string_view name)
{
    static const nlohmann::json none;
    if (!object.is_object())
        return none;
    const auto found = object.find(name);
    return found == object.end() ? none : *found;
}

inline std::string textOf(const nlohmann::json &object, std::string_view name, std::string fallback = {})
{
    const nlohmann::json &field = fieldOf(object, name);
    return field.is_string() ? field.get<std::string>() : std::move(fallback);
}

inline std::int64_t numberOf(const nlohmann::json &object, std::string_view name, std::int64_t fallback = 0)
{
    const nlohmann::json &field = fieldOf(object, name);
    return field.is_number() ? field.get<std::int64_t>() : fallback;
}

inline bool flagOf(const nlohmann::json &object, std::string_view name, bool fallback = false)
{
    const nlohmann::json &field = fieldOf(object, name);
    return field.is_boolean() ? field.get<bool>() : fallback;
}

/// An array's strings; of anything else none.
inline std::vector<std::string> textsOf(const nlohmann::json &object, std::string_view name)
{
    std::vector<std::string> texts;
    const nlohmann::json &field = fieldOf(object, name);
    if (!field.is_array())
        return texts;
    for (const nlohmann::json &item : field) {
        if (item.is_string())
            texts.push_back(item.get<std::string>());
    }
    return texts;
}

/// An array's items; of anything else none.
inline const nlohmann::json &itemsOf(const nlohmann::json &object, std::string_view name)
{
    static const nlohmann::json none = nlohmann::json::array();
    const nlohmann::json &field = fieldOf(object, name);
    return field.is_array() ? field : none;
}

} // namespace cluster::local
