#pragma once

#include "cluster/httpd/http_listener.h"

#include <optional>
#include <string_view>

namespace cluster::local {

/// The user id of a socket in a table of the kernel's form (/proc/net/tcp). Nothing where it isn't in it.
std::optional<unsigned> userOfSocket(std::string_view table, const ConnectionEnds &ends);

/// The same of this machine now.
std::optional<unsigned> userOfSocket(const ConnectionEnds &ends);

} // namespace cluster::local
