#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace cluster::local {

/// What an aggregated API answers instead of an object: metav1.Status of a failure.
struct ApiFailure
{
    int code = 500; ///< of HTTP
    std::string reason; ///< "NotFound", "BadRequest"; empty: none is known
    std::string message;

    [[nodiscard]] nlohmann::json toStatus() const
    {
        nlohmann::json status{
            {"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", nlohmann::json::object()},
            {"status", "Failure"}, {"message", message}, {"code", code}};
        if (!reason.empty())
            status["reason"] = reason;
        return status;
    }
};

template<typename T>
using ApiResult = tl::expected<T, ApiFailure>;

inline tl::unexpected<ApiFailure> apiFail(int code, std::string reason, std::string message)
{
    return tl::unexpected<ApiFailure>(ApiFailure{code, std::move(reason), std::move(message)});
}

} // namespace cluster::local
