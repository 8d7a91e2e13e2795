#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/deadline.h"

#include <chrono>

namespace cluster {

/// Sleeps; false when cancelled meanwhile. Ends early at the deadline (true: the caller's next step says so).
bool pauseFor(std::chrono::milliseconds wait, const CancelToken &cancel, Deadline deadline = {});

/// `wait` and up to half of it more or less, so that many clients do not come back at the same moment.
std::chrono::milliseconds jittered(std::chrono::milliseconds wait);

} // namespace cluster
