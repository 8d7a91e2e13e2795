#include "engine/serving/error_response.h"

#include <nlohmann/json.hpp>

namespace engine {

ApiError badRequest(std::string message, std::string param)
{
    return {400, "BadRequestError", std::move(message), std::move(param), 0};
}

ApiError badParameter(const Dialect &dialect, const std::string &message, const std::string &param,
                      const std::string &value)
{
    if (!dialect.structuredParams)
        return badRequest(message);
    const std::string shown = value.empty() ? "" : ", value=" + value;
    return badRequest(message + " (parameter=" + param + shown + ")", param);
}

ApiError notFoundError(const Dialect &dialect, const std::string &model,
                       const std::vector<std::string> &served)
{
    ApiError error{404, "NotFoundError", "The model `" + model + "` does not exist.", {}, 0};
    if (dialect.isOld())
        return error;
    std::string names;
    for (const std::string &name : served)
        names += (names.empty() ? "" : ", ") + name;
    error.message += " Valid aliases: " + names + ".";
    error.param = "model";
    return error;
}

ApiError overloaded()
{
    return {503,
            "Service Unavailable",
            "The engine is currently busy and cannot accept new requests. Please try again later or on a "
            "different "
            "instance.",
            {},
            1};
}

ApiError engineUnavailable(const std::string &reason)
{
    return {503, "Service Unavailable", reason, {}, 1};
}

ApiError fromFailure(const RequestFailure &failure)
{
    if (failure.code == "invalid_argument")
        return badRequest(failure.message);
    if (failure.code == "unavailable")
        return engineUnavailable(failure.message);
    return {500, "InternalServerError", failure.message, {}, 0};
}

ApiError fromError(const cluster::Error &error)
{
    switch (error.code) {
    case cluster::ErrorCode::InvalidArgument:
    case cluster::ErrorCode::FailedPrecondition:
        return badRequest(error.message);
    case cluster::ErrorCode::Unavailable:
    case cluster::ErrorCode::Aborted:
    case cluster::ErrorCode::Cancelled:
        return engineUnavailable(error.message);
    case cluster::ErrorCode::Unimplemented:
        return {501, "NotImplementedError", error.message, {}, 0};
    default:
        return {500, "InternalServerError", error.message, {}, 0};
    }
}

ApiError grammarError(const cluster::Error &error)
{
    return error.code == cluster::ErrorCode::InvalidArgument ? badRequest("Grammar error: " + error.message)
                                                             : fromError(error);
}

std::string jsonQuoted(const std::string &text)
{
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

HttpResponse errorResponse(const Dialect &dialect, const ApiError &error)
{
    if (error.type.empty()) { // the framework's own refusals
        return {error.status,
                {{"content-type", "application/json"}},
                R"({"detail":)" + jsonQuoted(error.message) + "}"};
    }
    const std::string param = error.param.empty() || dialect.isOld() ? "null" : jsonQuoted(error.param);
    const std::string fields = R"("message":)" + jsonQuoted(error.message) + R"(,"type":)"
        + jsonQuoted(error.type) + R"(,"param":)" + param + R"(,"code":)" + std::to_string(error.status);
    HttpResponse response;
    response.status = error.status;
    response.headers.emplace_back("content-type", "application/json");
    if (error.retryAfterSeconds > 0)
        response.headers.emplace_back("retry-after", std::to_string(error.retryAfterSeconds));
    response.body
        = dialect.nestedErrors ? R"({"error":{)" + fields + "}}" : R"({"object":"error",)" + fields + "}";
    return response;
}

std::string errorEventJson(const Dialect &dialect, const ApiError &error)
{
    const std::string param = error.param.empty() || dialect.isOld() ? "null" : jsonQuoted(error.param);
    const std::string object = dialect.isOld() ? R"("object": "error", )" : "";
    return R"({"error": {)" + object + R"("message": )" + jsonQuoted(error.message) + R"(, "type": )"
        + jsonQuoted(error.type) + R"(, "param": )" + param + R"(, "code": )" + std::to_string(error.status)
        + "}}";
}

} // namespace engine
