#pragma once

#include "cluster/base/result.h"
#include "cluster/httpd/server_message.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace cluster::local {

/// The parts of `value` that a mask of Google's JSON APIs chooses: "a,b/c", "items(id,name),next", "*/x". A
/// part of a list is that part of each element. What the mask names and `value` has not is left out.
/// Errors: InvalidArgument, for a text that is no mask.
Result<nlohmann::json> selectFields(const nlohmann::json &value, std::string_view mask);

/// The answer, of which only what the parameter `fields` (or `$fields`) chooses is sent. Errors and answers
/// that are no JSON stay as they are. 400 for a mask that is none.
ServerResponse partialResponse(const ServerRequest &request, ServerResponse response);

} // namespace cluster::local
