#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace cluster {

/// What kind of failure, so that callers can decide without reading the text (above all: may I retry?).
/// Same meanings as google.rpc.Code; HTTP, Kubernetes and engine errors are mapped to these at the edge.
enum class ErrorCode {
    InvalidArgument,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    Unauthenticated,
    FailedPrecondition,
    Aborted,
    ResourceExhausted,
    DeadlineExceeded,
    Cancelled,
    Unavailable,
    Unimplemented,
    DataLoss,
    Internal,
    Unknown,
};

struct Error
{
    ErrorCode code = ErrorCode::Unknown;
    std::string message; ///< For a person: names what failed, where, and what to do. Never parsed.
};

/// A value or an Error. The names are std::expected's, so that C++23 can take over without a change at the
/// callers.
template<typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// `return fail(ErrorCode::NotFound, "no model named 'x'");`
inline tl::unexpected<Error> fail(ErrorCode code, std::string message)
{
    return tl::unexpected<Error>(Error{code, std::move(message)});
}

} // namespace cluster
