#pragma once

#include "cluster/base/result.h"

#include <cstddef>
#include <functional>

namespace cluster::local {

/// Calls `work` for 0 to count - 1 on up to `threads` threads at once, for calls that wait for a server.
/// After the first failure no new ones are begun; that failure is returned.
Status inParallel(std::size_t count, std::size_t threads, const std::function<Status(std::size_t)> &work);

} // namespace cluster::local
