#include "cluster/openai/chat_event.h"

#include <nlohmann/json.hpp>

namespace cluster {

namespace {

using Json = nlohmann::json;

constexpr std::size_t shownTextBytes = 400;

/// The beginning of `body` without tags, each run of blanks as one.
std::string plainText(std::string_view body)
{
    const bool isHtml = body.find("<html") != std::string_view::npos || body.starts_with("<!");
    std::string text;
    bool isInTag = false;
    bool isGap = false;
    for (const char c : body) {
        isInTag = isInTag || (isHtml && c == '<');
        if (isInTag || c == ' ' || c == '\n' || c == '\r' || c == '\t') {
            isGap = true;
            isInTag = isInTag && c != '>';
            continue;
        }
        if (text.size() >= shownTextBytes)
            break;
        if (isGap && !text.empty())
            text += ' ';
        isGap = false;
        text += c;
    }
    return text;
}

/// FastAPI's validation list: [{"loc": ["body", "max_tokens"], "msg": "..."}].
std::string detailText(const Json &detail)
{
    if (detail.is_string())
        return detail.get<std::string>();
    if (!detail.is_array())
        return detail.dump(-1, ' ', false, Json::error_handler_t::replace);
    std::string text;
    for (const Json &item : detail) {
        std::string place;
        if (const auto loc = item.find("loc"); item.is_object() && loc != item.end() && loc->is_array()) {
            for (const Json &step : *loc)
                place += (place.empty() ? "" : ".")
                    + (step.is_string() ? step.get<std::string>() : step.dump());
        }
        const bool hasMessage = item.is_object() && item.contains("msg") && item["msg"].is_string();
        const std::string message = hasMessage ? item["msg"].get<std::string>() : detailText(item);
        text += (text.empty() ? "" : "; ") + (place.empty() ? message : place + ": " + message);
    }
    return text;
}

std::string stringMember(const Json &object, const char *key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void takeObject(const Json &object, ApiError &error)
{
    error.message = stringMember(object, "message");
    error.type = stringMember(object, "type");
    error.param = stringMember(object, "param");
    const auto code = object.find("code");
    if (error.status == 0 && code != object.end() && code->is_number_integer())
        error.status = code->get<int>();
    if (error.type.empty() && code != object.end() && code->is_string())
        error.type = code->get<std::string>();
}

void takeJson(const Json &json, ApiError &error)
{
    if (json.is_string()) {
        error.message = json.get<std::string>();
        return;
    }
    if (!json.is_object()) {
        error.message = detailText(json);
        return;
    }
    if (const auto nested = json.find("error"); nested != json.end() && !nested->is_null()) {
        takeJson(*nested, error);
        // llama-server and some gateways put the text beside it.
        if (error.message.empty())
            error.message = stringMember(json, "message");
        return;
    }
    takeObject(json, error);
    if (const auto detail = json.find("detail"); error.message.empty() && detail != json.end())
        error.message = detailText(*detail);
}

ErrorCode codeOf(int status)
{
    switch (status) {
    case 401:
        return ErrorCode::Unauthenticated;
    case 403:
        return ErrorCode::PermissionDenied;
    case 404:
        return ErrorCode::NotFound;
    case 409:
        return ErrorCode::Aborted;
    case 408:
    case 502:
    case 503:
    case 504:
        return ErrorCode::Unavailable;
    case 429:
        return ErrorCode::ResourceExhausted;
    case 501:
        return ErrorCode::Unimplemented;
    default:
        break;
    }
    if (status >= 400 && status < 500)
        return ErrorCode::InvalidArgument;
    return status >= 500 ? ErrorCode::Internal : ErrorCode::Unknown;
}

const char *adviceFor(int status)
{
    switch (status) {
    case 401:
        return ": give the right API key";
    case 403:
        return ": the key has no right to do this";
    case 408:
    case 429:
    case 503:
        return ": the server is busy, try again later";
    case 502:
    case 504:
        return ": the server behind the gateway does not answer, see its log";
    default:
        return status >= 500 ? ": see the server's log" : "";
    }
}

} // namespace

ApiError parseErrorBody(int status, std::string_view body)
{
    ApiError error;
    error.status = status;
    const Json json = Json::parse(body, nullptr, false);
    if (json.is_discarded())
        error.message = plainText(body);
    else
        takeJson(json, error);
    if (error.message.empty()) {
        const std::string what
            = error.type.empty() ? "gave no reason" : "gave no reason but '" + error.type + "'";
        error.message = "the server " + what;
    }
    return error;
}

Error toError(const ApiError &apiError, const std::string &where)
{
    const std::string status = apiError.status ? " (" + std::to_string(apiError.status) + ")" : "";
    std::string text = where + " refused" + status + ": " + apiError.message;
    if (apiError.status == 0 || apiError.status >= 500)
        text = where + " failed" + status + ": " + apiError.message;
    while (!text.empty() && (text.back() == '.' || text.back() == '\n'))
        text.pop_back();
    return {codeOf(apiError.status), text + adviceFor(apiError.status)};
}

} // namespace cluster
