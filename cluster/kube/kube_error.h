#pragma once

#include "cluster/base/result.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster {

/// One reason among several in a refusal: which field, and why.
struct KubeCause
{
    std::string reason; ///< "FieldValueRequired", "FieldManagerConflict", …
    std::string message;
    std::string field; ///< "spec.containers[0].image"; may be empty
};

/// metav1.Status of a failure, as the API server sent it.
struct KubeStatus
{
    int httpStatus = 0; ///< 0 where no answer came
    std::string reason; ///< "NotFound", "AlreadyExists", "Conflict", "Invalid", "Expired", …; may be empty
    std::string message; ///< the server's words
    std::string group, kind, name; ///< of the object it is about; each may be empty
    std::vector<KubeCause> causes;
    std::optional<std::chrono::seconds> retryAfter;
};

/// From the body of an answer with status >= 400. A body that is no Status (a proxy's page, plain text)
/// becomes the message, shortened.
KubeStatus parseKubeStatus(int httpStatus, std::string_view body);

/// What to tell callers. By reason, else by HTTP status: NotFound; AlreadyExists (409); Conflict -> Aborted
/// (409: read again and retry; also a server-side apply conflict); Invalid, BadRequest -> InvalidArgument;
/// Unauthorized -> Unauthenticated; Forbidden -> PermissionDenied; Expired, Gone -> FailedPrecondition (410:
/// list again); TooManyRequests -> ResourceExhausted; ServiceUnavailable, ServerTimeout -> Unavailable;
/// Timeout -> DeadlineExceeded; MethodNotAllowed, NotAcceptable, UnsupportedMediaType -> Unimplemented;
/// InternalError -> Internal. `where`: "creating pods default/x at 127.0.0.1:6443".
Error toError(const KubeStatus &status, std::string_view where);

} // namespace cluster
