#pragma once

#include "cluster/base/result.h"

#include <string>
#include <string_view>

namespace cluster::local {

/// A "multipart/related" body of two parts, as Google's uploads have it: what it is, and the bytes.
struct RelatedParts
{
    std::string metadata; ///< JSON
    std::string mediaType; ///< Content-Type of the second part; empty if it has none
    std::string_view media; ///< lives as long as the body
};

/// `contentType` is the request's header with its boundary. Lines may end with CRLF or with LF alone
/// (gcloud's do). Errors: InvalidArgument.
Result<RelatedParts> splitRelated(std::string_view contentType, std::string_view body);

} // namespace cluster::local
