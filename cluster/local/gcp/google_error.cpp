#include "cluster/local/gcp/google_error.h"

namespace cluster::local {

namespace {

struct CodeRow
{
    ErrorCode code;
    int number; // google.rpc.Code
    const char *name;
    int http;
    const char *reason; // of the older form
};

constexpr CodeRow kCodes[] = {
    {ErrorCode::InvalidArgument, 3, "INVALID_ARGUMENT", 400, "invalid"},
    {ErrorCode::NotFound, 5, "NOT_FOUND", 404, "notFound"},
    {ErrorCode::AlreadyExists, 6, "ALREADY_EXISTS", 409, "conflict"},
    {ErrorCode::PermissionDenied, 7, "PERMISSION_DENIED", 403, "forbidden"},
    {ErrorCode::Unauthenticated, 16, "UNAUTHENTICATED", 401, "authError"},
    {ErrorCode::FailedPrecondition, 9, "FAILED_PRECONDITION", 400, "failedPrecondition"},
    {ErrorCode::Aborted, 10, "ABORTED", 409, "conflict"},
    {ErrorCode::ResourceExhausted, 8, "RESOURCE_EXHAUSTED", 429, "rateLimitExceeded"},
    {ErrorCode::DeadlineExceeded, 4, "DEADLINE_EXCEEDED", 504, "backendError"},
    {ErrorCode::Cancelled, 1, "CANCELLED", 499, "cancelled"},
    {ErrorCode::Unavailable, 14, "UNAVAILABLE", 503, "backendError"},
    {ErrorCode::Unimplemented, 12, "UNIMPLEMENTED", 501, "notImplemented"},
    {ErrorCode::DataLoss, 15, "DATA_LOSS", 500, "backendError"},
    {ErrorCode::Internal, 13, "INTERNAL", 500, "backendError"},
    {ErrorCode::Unknown, 2, "UNKNOWN", 500, "backendError"},
};

const CodeRow &rowOf(ErrorCode code)
{
    for (const CodeRow &row : kCodes) {
        if (row.code == code)
            return row;
    }
    return kCodes[std::size(kCodes) - 1];
}

} // namespace

namespace {

bool isServiceDisabled(const GoogleError &error)
{
    return !error.details.empty() && error.details[0].value("reason", "") == "SERVICE_DISABLED";
}

} // namespace

GoogleError toGoogleError(const Error &error)
{
    return {error.code, error.message, nlohmann::json::array(), 0};
}

int httpStatusOf(const GoogleError &error)
{
    return error.httpStatus != 0 ? error.httpStatus : rowOf(error.code).http;
}

std::string rpcName(ErrorCode code)
{
    return rowOf(code).name;
}

int rpcNumber(ErrorCode code)
{
    return rowOf(code).number;
}

ServerResponse jsonResponse(const nlohmann::json &body, int status)
{
    // Names that came in as bytes of no known encoding must not bring the answer down.
    return {status,
            {{"content-type", "application/json; charset=UTF-8"}, {"cache-control", "private"}},
            body.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

ServerResponse errorResponse(const GoogleError &error)
{
    const int status = httpStatusOf(error);
    nlohmann::json body{{"code", status}, {"message", error.message}, {"status", rpcName(error.code)}};
    if (!error.details.empty())
        body["details"] = error.details;
    ServerResponse response = jsonResponse({{"error", std::move(body)}}, status);
    if (status == 401)
        response.headers.emplace_back("www-authenticate", "Bearer realm=\"https://accounts.google.com/\"");
    return response;
}

ServerResponse legacyErrorResponse(const GoogleError &error, const std::string &reason)
{
    const int status = httpStatusOf(error);
    const std::string word = reason.empty() ? rowOf(error.code).reason : reason;
    nlohmann::json list
        = nlohmann::json::array({{{"message", error.message}, {"domain", "global"}, {"reason", word}}});
    nlohmann::json body{{"code", status}, {"message", error.message}};
    if (isServiceDisabled(error)) {
        list[0].update({{"domain", "usageLimits"},
                        {"reason", "accessNotConfigured"},
                        {"extendedHelp", "https://console.developers.google.com"}});
        body["status"] = rpcName(error.code);
        body["details"] = error.details;
    }
    body["errors"] = std::move(list);
    return jsonResponse({{"error", std::move(body)}}, status);
}

ServerResponse unknownMethodResponse(const ServerRequest &request)
{
    return errorResponse({ErrorCode::NotFound,
                          "The requested URL " + request.method + " " + request.path
                              + " was not found on this server. The local target does not have this method.",
                          nlohmann::json::array(), 404});
}

} // namespace cluster::local
