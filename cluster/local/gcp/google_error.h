#pragma once

#include "cluster/base/result.h"
#include "cluster/httpd/server_message.h"

#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

/// An error as Google's APIs answer it (google.rpc.Status over HTTP).
struct GoogleError
{
    ErrorCode code = ErrorCode::Unknown;
    std::string message;
    nlohmann::json details = nlohmann::json::array(); ///< objects with "@type"
    int httpStatus = 0; ///< 0: the usual one of `code`
};

template<typename T>
using GoogleResult = tl::expected<T, GoogleError>;
using GoogleStatus = GoogleResult<void>;

inline tl::unexpected<GoogleError> googleFail(ErrorCode code, std::string message,
                                              nlohmann::json details = nlohmann::json::array())
{
    return tl::unexpected<GoogleError>(GoogleError{code, std::move(message), std::move(details), 0});
}

inline tl::unexpected<GoogleError> invalidArgument(std::string message)
{
    return googleFail(ErrorCode::InvalidArgument, std::move(message));
}

/// As messages show values.
inline std::string quoted(const std::string &text)
{
    return "\"" + text + "\"";
}

/// Same code and words.
GoogleError toGoogleError(const Error &error);

int httpStatusOf(const GoogleError &error); ///< 400, 401, 403, 404, 409, 429, 499, 500, 501, 503, 504
std::string rpcName(ErrorCode code); ///< "PERMISSION_DENIED"
int rpcNumber(ErrorCode code); ///< google.rpc.Code: 7

ServerResponse jsonResponse(const nlohmann::json &body, int status = 200);

/// {"error":{"code":403,"message":…,"status":"PERMISSION_DENIED","details":[…]}}
ServerResponse errorResponse(const GoogleError &error);

/// The older form of storage and compute: {"error":{"code":404,"message":…,"errors":[{"message":…,"domain":
/// "global","reason":"notFound"}]}}. An empty reason is made from the code. Of a disabled service it has the
/// details too.
ServerResponse legacyErrorResponse(const GoogleError &error, const std::string &reason = {});

/// What Google says to a path that it does not have.
ServerResponse unknownMethodResponse(const ServerRequest &request);

} // namespace cluster::local
