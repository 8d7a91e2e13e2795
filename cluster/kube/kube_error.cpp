#include "cluster/kube/kube_error.h"

#include "cluster/kube/json_text.h"

#include <array>
#include <nlohmann/json.hpp>

namespace cluster {

namespace {

using Json = nlohmann::json;

constexpr std::size_t longestQuote = 300;

struct ReasonCode
{
    std::string_view reason;
    ErrorCode code;
};

constexpr std::array reasonCodes{
    ReasonCode{"NotFound", ErrorCode::NotFound},
    ReasonCode{"AlreadyExists", ErrorCode::AlreadyExists},
    ReasonCode{"Conflict", ErrorCode::Aborted},
    ReasonCode{"Invalid", ErrorCode::InvalidArgument},
    ReasonCode{"BadRequest", ErrorCode::InvalidArgument},
    ReasonCode{"Unauthorized", ErrorCode::Unauthenticated},
    ReasonCode{"Forbidden", ErrorCode::PermissionDenied},
    ReasonCode{"Expired", ErrorCode::FailedPrecondition},
    ReasonCode{"Gone", ErrorCode::FailedPrecondition},
    ReasonCode{"TooManyRequests", ErrorCode::ResourceExhausted},
    ReasonCode{"RequestEntityTooLarge", ErrorCode::ResourceExhausted},
    ReasonCode{"ServiceUnavailable", ErrorCode::Unavailable},
    ReasonCode{"ServerTimeout", ErrorCode::Unavailable},
    ReasonCode{"Timeout", ErrorCode::DeadlineExceeded},
    ReasonCode{"MethodNotAllowed", ErrorCode::Unimplemented},
    ReasonCode{"NotAcceptable", ErrorCode::Unimplemented},
    ReasonCode{"UnsupportedMediaType", ErrorCode::Unimplemented},
    ReasonCode{"InternalError", ErrorCode::Internal},
};

ErrorCode codeOfHttpStatus(int status)
{
    switch (status) {
    case 400:
    case 422:
        return ErrorCode::InvalidArgument;
    case 401:
        return ErrorCode::Unauthenticated;
    case 403:
        return ErrorCode::PermissionDenied;
    case 404:
        return ErrorCode::NotFound;
    case 405:
    case 406:
    case 415:
        return ErrorCode::Unimplemented;
    case 409:
        return ErrorCode::Aborted;
    case 410:
        return ErrorCode::FailedPrecondition;
    case 413:
    case 429:
        return ErrorCode::ResourceExhausted;
    case 502:
    case 503:
        return ErrorCode::Unavailable;
    case 504:
        return ErrorCode::DeadlineExceeded;
    default:
        return status >= 500 ? ErrorCode::Internal : ErrorCode::Unknown;
    }
}

ErrorCode codeOf(const KubeStatus &status)
{
    for (const ReasonCode &entry : reasonCodes) {
        if (entry.reason == status.reason)
            return entry.code;
    }
    return codeOfHttpStatus(status.httpStatus);
}

void readDetails(const Json &details, KubeStatus &status)
{
    status.group = stringAt(details, "group");
    status.kind = stringAt(details, "kind");
    status.name = stringAt(details, "name");
    const auto seconds = details.find("retryAfterSeconds");
    if (seconds != details.end() && seconds->is_number_integer())
        status.retryAfter = std::chrono::seconds(seconds->get<int>());
    const auto causes = details.find("causes");
    if (causes == details.end() || !causes->is_array())
        return;
    for (const Json &cause : *causes) {
        if (cause.is_object())
            status.causes.push_back(
                {stringAt(cause, "reason"), stringAt(cause, "message"), stringAt(cause, "field")});
    }
}

const char *adviceFor(ErrorCode code)
{
    switch (code) {
    case ErrorCode::Unauthenticated:
        return " (the credentials are missing or no longer valid: get them again)";
    case ErrorCode::Unavailable:
        return " (the API server is starting or overloaded: try again)";
    default:
        return "";
    }
}

} // namespace

KubeStatus parseKubeStatus(int httpStatus, std::string_view body)
{
    KubeStatus status;
    status.httpStatus = httpStatus;
    const Json json = Json::parse(body, nullptr, false);
    if (!json.is_object() || stringAt(json, "kind") != "Status") {
        // Some proxy's page, or plain text as of an unknown path.
        status.message = body.substr(0, longestQuote);
        while (!status.message.empty() && (status.message.back() == '\n' || status.message.back() == ' '))
            status.message.pop_back();
        return status;
    }
    status.reason = stringAt(json, "reason");
    status.message = stringAt(json, "message");
    if (const auto code = json.find("code"); code != json.end() && code->is_number_integer())
        status.httpStatus = code->get<int>();
    if (const auto details = json.find("details"); details != json.end() && details->is_object())
        readDetails(*details, status);
    return status;
}

Error toError(const KubeStatus &status, std::string_view where)
{
    const ErrorCode code = codeOf(status);
    std::string message(where);
    message += " failed: ";
    message += status.message.empty() ? "HTTP " + std::to_string(status.httpStatus)
            + (status.reason.empty() ? std::string() : " " + status.reason)
                                      : status.message;
    message += adviceFor(code);
    return Error{code, std::move(message)};
}

} // namespace cluster
