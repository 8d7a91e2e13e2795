#pragma once

#include "cluster/httpd/server_message.h"

#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

// Answers as FastAPI gives them behind Serve's proxy.

ServerResponse fastApiJson(int status, const nlohmann::json &body);
ServerResponse fastApiNotFound(); ///< 404 {"detail":"Not Found"}
ServerResponse fastApiWrongMethod(const std::string &allowed);
ServerResponse fastApiServerError(); ///< 500 Internal Server Error
/// 422: one field of the query is missing or wrong. \param context  null: without "ctx"
ServerResponse fastApiInvalidQuery(const std::string &field, const std::string &type,
                                   const std::string &message, const nlohmann::json &input,
                                   const nlohmann::json &context = nullptr);

} // namespace cluster::local
