#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cluster {

/// The string at `key`; empty if there is none, or if it is no string.
inline std::string stringAt(const nlohmann::json &object, const char *key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace cluster
