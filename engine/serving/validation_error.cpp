#include "engine/serving/field_reader.h"
#include "engine/serving/json_reading.h"
#include "engine/serving/python_text.h"

#include <algorithm>

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::size_t kShownIssues = 10; // of the newest dialect

std::string oldLocation(const std::vector<LocationPart> &parts)
{
    std::string text = "('body'";
    for (const LocationPart &part : parts)
        text += ", " + (part.isIndex ? part.text : pythonRepr(std::string_view(part.text)));
    return text + (parts.empty() ? ",)" : ")");
}

std::string newLocation(const std::vector<LocationPart> &parts)
{
    std::string text = "body";
    for (const LocationPart &part : parts) {
        if (!part.isBranch)
            text += "." + part.text;
    }
    return text;
}

std::string newInput(const Json &input)
{
    if (input.is_object())
        return "'<dict of " + std::to_string(input.size()) + " items>'";
    if (input.is_array())
        return "'<list of " + std::to_string(input.size()) + " items>'";
    return input.is_string() ? pythonRepr(input) : pythonRepr(std::string_view(pythonRepr(input)));
}

std::string issueText(const FieldIssue &issue, const std::string &location, const std::string &input)
{
    const std::string context = issue.context.empty() ? "" : ", 'ctx': " + issue.context;
    return "{'type': " + pythonRepr(std::string_view(issue.type)) + ", 'loc': " + location
        + ", 'msg': " + pythonRepr(std::string_view(issue.message)) + ", 'input': " + input + context + "}";
}

ApiError newValidationError(const std::vector<FieldIssue> &issues, std::size_t total)
{
    std::string text = std::to_string(total) + (total == 1 ? " validation error:" : " validation errors:");
    for (std::size_t i = 0; i < std::min(issues.size(), kShownIssues); ++i) {
        const std::string location = "'" + newLocation(issues[i].location) + "'";
        text += "\n  " + issueText(issues[i], location, newInput(issues[i].input));
    }
    if (total > kShownIssues)
        text += "\n  ...and " + std::to_string(total - kShownIssues) + " more errors";
    return {400, "Bad Request", text, newLocation(issues.front().location), 0};
}

} // namespace

ApiError validationError(const Dialect &dialect, const std::vector<FieldIssue> &issues, int extraCount)
{
    if (!dialect.isOld())
        return newValidationError(issues, issues.size() + static_cast<std::size_t>(extraCount));
    std::string text;
    for (const FieldIssue &issue : issues) {
        text += (text.empty() ? "" : ", ")
            + issueText(issue, oldLocation(issue.location), pythonRepr(issue.input));
    }
    return badRequest("[" + text + "]");
}

ApiError ruleError(const Dialect &dialect, const Json &body, const std::string &message,
                   const std::string &param)
{
    if (!dialect.isOld())
        return param.empty() ? badRequest(message) : badParameter(dialect, message, param);
    const FieldIssue issue{"value_error",
                           {},
                           "Value error, " + message,
                           body,
                           "{'error': ValueError(" + pythonRepr(std::string_view(message)) + ")}"};
    return validationError(dialect, {issue});
}

ApiResult<Json> readJsonBody(const Dialect &dialect, const HttpRequest &request)
{
    std::string_view type = request.header("content-type");
    type = type.substr(0, type.find(';'));
    while (!type.empty() && type.back() == ' ')
        type.remove_suffix(1);
    if (!equalsIgnoringCase(type, "application/json")) {
        const std::string words = "Unsupported Media Type: Only 'application/json' is allowed";
        if (dialect.isOld())
            return tl::unexpected(ApiError{415, "", words, {}, 0});
        return tl::unexpected(ApiError{400, "Bad Request", "1 validation error:\n  " + words, {}, 0});
    }
    if (request.body.empty())
        return tl::unexpected(validationError(dialect, {{"missing", {}, "Field required", nullptr, {}}}));
    const auto syntax = findJsonError(request.body);
    auto body = syntax ? std::nullopt : parseJson(request.body);
    if (!body) {
        const auto error = syntax.value_or(JsonSyntaxError{0, "Expecting value"});
        const FieldIssue issue{"json_invalid",
                               {{std::to_string(error.position), true, false}},
                               "JSON decode error",
                               Json::object(),
                               "{'error': " + pythonRepr(std::string_view(error.message)) + "}"};
        return tl::unexpected(validationError(dialect, {issue}));
    }
    if (!body->is_object()) {
        return tl::unexpected(
            validationError(dialect,
                            {{"model_attributes_type",
                              {},
                              "Input should be a valid dictionary or object to extract fields from",
                              std::move(*body),
                              {}}}));
    }
    return std::move(*body);
}

} // namespace engine
