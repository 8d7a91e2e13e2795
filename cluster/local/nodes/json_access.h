#pragma once

#include <nlohmann/json.hpp>
#include <string>

/// Reading of objects that others wrote: what is missing or of another type is nothing, never an exception.
namespace cluster::local::json_access {

/// The member, or null.
inline const nlohmann::json &at(const nlohmann::json &object, const char *key)
{
    static const nlohmann::json none;
    if (!object.is_object())
        return none;
    const auto found = object.find(key);
    return found == object.end() ? none : *found;
}

/// The member if it is a text, else an empty one.
inline std::string text(const nlohmann::json &object, const char *key)
{
    const nlohmann::json &value = at(object, key);
    return value.is_string() ? value.get<std::string>() : std::string();
}

/// Likewise, of the member of a member.
inline std::string text(const nlohmann::json &object, const char *outer, const char *inner)
{
    return text(at(object, outer), inner);
}

/// Of a Kubernetes object: it is being deleted.
inline bool isGoing(const nlohmann::json &object)
{
    return !at(at(object, "metadata"), "deletionTimestamp").is_null();
}

} // namespace cluster::local::json_access
