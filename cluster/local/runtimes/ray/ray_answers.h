#pragma once

#include "cluster/httpd/server_message.h"

#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

// Answers as aiohttp (dashboard, agent) gives them.

ServerResponse rayJson(const nlohmann::json &body, int status = 200);
/// {"result": …, "msg": …, "data": …}; a failure is a 500, as the dashboard's own.
ServerResponse rayEnvelope(const std::string &message, const nlohmann::json &data);
ServerResponse rayFailure(int status, const std::string &message, const nlohmann::json &data);
ServerResponse rayText(int status, const std::string &text);
/// Of the health checks: "application/text", as recorded.
ServerResponse rayHealth(const std::string &text);
ServerResponse rayNotFound(); ///< "404: Not Found"
ServerResponse rayWrongMethod(const std::string &allowed); ///< "405: Method Not Allowed"
/// A Python traceback that ends in these words.
std::string pythonTraceback(const std::string &lastLine);

} // namespace cluster::local
