#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

/// Python's repr() of a JSON value, as pydantic quotes it: "{'name': 'x'}"; more than 50 characters are cut
/// in the middle.
std::string pydanticInput(const nlohmann::ordered_json &value);
/// The name of its Python type: "dict", "str", "NoneType".
std::string pythonType(const nlohmann::ordered_json &value);

} // namespace cluster::local
