#pragma once

#include "cluster/base/result.h"
#include "engine/protocol/messages.h"
#include "engine/serving/dialect.h"
#include "engine/serving/http_message.h"
#include <string>
#include <tl/expected.hpp>

namespace engine {

/// An answer that refuses, in vLLM's words.
struct ApiError
{
    int status = 400;
    std::string type = "BadRequestError"; ///< Empty: the answer is {"detail": message}.
    std::string message;
    std::string param; ///< Empty: null.
    int retryAfterSeconds = 0; ///< 0: no Retry-After header.
};

template<typename T>
using ApiResult = tl::expected<T, ApiError>;

[[nodiscard]] ApiError badRequest(std::string message, std::string param = {});

/// A bad value of a parameter. Newer servers add "(parameter=NAME, value=V)"; value may be empty.
[[nodiscard]] ApiError badParameter(const Dialect &dialect, const std::string &message,
                                    const std::string &param, const std::string &value = {});
[[nodiscard]] ApiError notFoundError(const Dialect &dialect, const std::string &model,
                                     const std::vector<std::string> &served);
[[nodiscard]] ApiError overloaded();
[[nodiscard]] ApiError engineUnavailable(const std::string &reason);
[[nodiscard]] ApiError fromFailure(const RequestFailure &failure);
[[nodiscard]] ApiError fromError(const cluster::Error &error);

/// A grammar or schema that the engine could not compile.
[[nodiscard]] ApiError grammarError(const cluster::Error &error);

[[nodiscard]] HttpResponse errorResponse(const Dialect &dialect, const ApiError &error);

/// The text of an error event inside a stream (nested in every version, with blanks after ':' and ',').
[[nodiscard]] std::string errorEventJson(const Dialect &dialect, const ApiError &error);

/// A text as a JSON string with its quotes; broken UTF-8 is replaced.
[[nodiscard]] std::string jsonQuoted(const std::string &text);

} // namespace engine
