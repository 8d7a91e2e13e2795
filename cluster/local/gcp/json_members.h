#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

// Reading of JSON that may lack what is looked for. Values of another type throw nlohmann's type_error, but
// for `member`, which goes on with null.

/// Null where there is none, or `object` is none.
inline const nlohmann::json &member(const nlohmann::json &object, const char *name)
{
    static const nlohmann::json nothing;
    if (!object.is_object())
        return nothing;
    const auto found = object.find(name);
    return found == object.end() ? nothing : *found;
}

inline std::string textMember(const nlohmann::json &object, const char *name, const char *otherwise = "")
{
    const nlohmann::json &value = member(object, name);
    return value.is_null() ? std::string(otherwise) : value.get<std::string>();
}

inline bool flagMember(const nlohmann::json &object, const char *name)
{
    const nlohmann::json &value = member(object, name);
    return !value.is_null() && value.get<bool>();
}

} // namespace cluster::local
