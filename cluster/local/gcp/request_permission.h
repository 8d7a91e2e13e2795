#pragma once

#include "cluster/httpd/server_message.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cluster::local {

/// One permission that a request takes, and on what.
struct RequiredPermission
{
    std::string permission; ///< "storage.objects.get"
    std::string bucket; ///< empty: of the project
    std::string project; ///< id or number; empty: the bucket's
};

/// What a request to one of Google's services takes (`service` is the prefix, `path` what follows it).
/// Nothing: the methods that pods have no use for, and may not call.
std::optional<std::vector<RequiredPermission>> requiredPermissions(const std::string &service,
                                                                   const ServerRequest &request,
                                                                   std::span<const std::string> path);

/// The bucket of a request for its `iam/testPermissions`, which anybody may ask.
std::optional<std::string> testedBucket(const std::string &service, std::span<const std::string> path);

} // namespace cluster::local
