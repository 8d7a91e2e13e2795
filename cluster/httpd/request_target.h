#pragma once

#include "cluster/httpd/server_message.h"

#include <string_view>

namespace cluster {

/// Fills path, segments and query of `request` from a target as it came over the wire. False for one that no
/// handler should see: a broken escape, a "." or ".." segment (also encoded), a NUL.
bool readTarget(std::string_view target, ServerRequest &request);

} // namespace cluster
